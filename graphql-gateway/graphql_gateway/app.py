"""The gateway as an ASGI application."""

from __future__ import annotations

from collections.abc import Callable

from graphql_gateway.context import Context
from graphql_gateway.cost import measure
from graphql_gateway.loaders import BatchedReads, SingleReads
from graphql_gateway.objects.entities import Reads
from graphql_gateway.schema import PUBLIC, build_schema
from shop.contract.ports import Clients
from shop.platform.access.streams import Streams
from shop.platform.config import EDGE_MARK
from shop.platform.graphql.endpoint import Endpoint
from shop.platform.incoming import Incoming

_MARK = EDGE_MARK.encode()


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
        address = headers.get(_MARK)
        return Context(
            clients,
            reads,
            authenticator,
            headers.get(b"authorization", b"").decode("latin-1"),
            held,
            admission,
            None if address is None else address.decode("latin-1"),
        )

    return Endpoint(schema, context, incoming, measure, compresses=True, public=PUBLIC)
