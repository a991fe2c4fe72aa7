"""The gateway as an ASGI application."""

from __future__ import annotations

from collections.abc import Callable

from graphql_gateway.context import Context
from graphql_gateway.cost import CostModel
from graphql_gateway.loaders import BatchedReads, SingleReads
from graphql_gateway.objects.entities import Reads
from graphql_gateway.schema import PUBLIC, build_schema
from shop.clients.ports import Clients
from shop.platform.access.rules import Authenticator
from shop.platform.access.streams import Streams
from shop.platform.config import EDGE_MARK
from shop.platform.graphql.endpoint import ROUTE, Endpoint
from shop.platform.graphql.tracing import App, Traced

_MARK = EDGE_MARK.encode()


def build_app(
    clients: Clients, authenticator: Authenticator, *, loaders: bool = True, streams: Streams | None = None
) -> App:
    """Returns the whole application, with compression and tracing around it.

    Args:
        clients: The services.
        authenticator: Finds out who calls.
        loaders: Whether reads are batched; without, every resolver makes a call of its own.
        streams: Limits and ends the streams of updates; None where there are no updates.
    """
    reads: Callable[[Clients], Reads] = BatchedReads if loaders else SingleReads
    schema, held = build_schema(updates=streams is not None), streams or Streams()

    def context(headers: dict[bytes, bytes]) -> Context[Reads]:
        authenticator.require_origin(authenticator.origin_of(headers))
        address = headers.get(_MARK)
        return Context(
            clients,
            reads,
            authenticator,
            headers.get(b"authorization", b"").decode("latin-1"),
            held,
            None if address is None else address.decode("latin-1"),
        )

    return Traced(Endpoint(schema, context, CostModel, compresses=True, public=PUBLIC), ROUTE)
