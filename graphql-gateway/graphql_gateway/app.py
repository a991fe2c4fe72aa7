"""The gateway as an ASGI application."""

from __future__ import annotations

from collections.abc import Callable

from graphql_gateway.context import Context
from graphql_gateway.cost import TARIFF
from graphql_gateway.loaders import BatchedReads, SingleReads
from graphql_gateway.objects.entities import Reads
from graphql_gateway.schema import PUBLIC, build_schema
from shop.contract.ports import Clients
from shop.platform.access.streams import Streams
from shop.platform.graphql.endpoint import Endpoint
from shop.platform.incoming import Incoming


def build_app(
    clients: Clients, incoming: Incoming, *, loaders: bool = True, streams: Streams | None = None
) -> Endpoint:
    """Returns the whole application, which compresses large answers.

    Args:
        loaders: Whether reads are batched; otherwise every resolver makes a separate call.
        streams: Limits and ends the streams of updates; None for no updates.
    """
    reads: Callable[[Clients], Reads] = BatchedReads if loaders else SingleReads
    schema, held = build_schema(updates=streams is not None), streams or Streams()
    authenticator, admission = incoming.authenticator, incoming.runtime.admission

    def context(headers: dict[bytes, bytes]) -> Context[Reads]:
        authenticator.is_outside(authenticator.origin_of(headers))
        return Context(clients, reads, authenticator, headers, held, admission)

    return Endpoint(schema, context, incoming, TARIFF.measure, compresses=True, public=PUBLIC)
