"""The gateway as an ASGI application."""

from __future__ import annotations

from starlette.middleware.gzip import GZipMiddleware

from graphql_gateway.context import Context
from graphql_gateway.cost import CostModel
from graphql_gateway.loaders import BatchedReads, Reads, SingleReads
from graphql_gateway.schema import build_schema
from shop.clients.ports import Clients
from shop.platform.access import Authenticator
from shop.platform.graphql.endpoint import ROUTE, Endpoint
from shop.platform.graphql.tracing import App, Traced

GZIP_FROM_BYTES = 1024
GZIP_LEVEL = 3  # measured: as quick as 1 and smaller; 4 takes half as long again


def build_app(clients: Clients, authenticator: Authenticator, *, loaders: bool = True) -> App:
    """Returns the whole application, with compression and tracing around it.

    Args:
        clients: The services.
        authenticator: Finds out who calls.
        loaders: Whether reads are batched; without, every resolver makes a call of its own.
    """
    reads = BatchedReads if loaders else SingleReads

    def context(headers: dict[bytes, bytes]) -> Context:
        authenticator.require_origin(authenticator.origin_of(headers))
        made: Reads = reads(clients)
        return Context(clients, made, authenticator, headers.get(b"authorization", b"").decode("latin-1"))

    endpoint = Endpoint(build_schema(), context, CostModel)
    return Traced(GZipMiddleware(endpoint, minimum_size=GZIP_FROM_BYTES, compresslevel=GZIP_LEVEL), ROUTE)
