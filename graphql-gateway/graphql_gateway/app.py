"""The gateway as an ASGI application."""

from __future__ import annotations

from collections.abc import Callable

from graphql_gateway.context import Context
from graphql_gateway.cost import CostModel
from graphql_gateway.loaders import BatchedReads, SingleReads
from graphql_gateway.objects.entities import Reads
from graphql_gateway.schema import build_schema
from shop.clients.ports import Clients
from shop.platform.access.rules import Authenticator
from shop.platform.graphql.endpoint import ROUTE, Endpoint
from shop.platform.graphql.tracing import App, Traced
from shop.platform.process.ending import Ending


def build_app(
    clients: Clients, authenticator: Authenticator, *, loaders: bool = True, ending: Ending | None = None
) -> App:
    """Returns the whole application, with compression and tracing around it.

    Args:
        clients: The services.
        authenticator: Finds out who calls.
        loaders: Whether reads are batched; without, every resolver makes a call of its own.
        ending: Ends what customers are told of their orders when the process stops; None where they are told nothing.
    """
    reads: Callable[[Clients], Reads] = BatchedReads if loaders else SingleReads
    schema, ends = build_schema(updates=ending is not None), ending or Ending()

    def context(headers: dict[bytes, bytes]) -> Context[Reads]:
        authenticator.require_origin(authenticator.origin_of(headers))
        return Context(clients, reads, authenticator, headers.get(b"authorization", b"").decode("latin-1"), ends)

    return Traced(Endpoint(schema, context, CostModel, compresses=True), ROUTE)
