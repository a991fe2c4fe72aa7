"""A shop in memory behind real servers: both gateways, and services over every protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from graphql_gateway.app import build_app as graphql_gateway
from rest_gateway.app import build_app as rest_gateway
from shop.contract.calls import SERVICES
from shop.contract.ports import Clients
from shop.platform.access.rules import gateway_authenticator
from shop.platform.access.streams import Streams
from shop.platform.config import ServiceConfig
from shop.platform.http.server import http_server
from shop.platform.incoming import Incoming
from shop.platform.process.runtime import BARE, Runtime
from shop.platform.serve import servers

SCHEMES = {"grpc": "grpc", "rest": "http", "graphql": "graphql", "thrift": "thrift", "thrift_json": "thrift-json"}
"""The scheme of addresses for each protocol."""
ANYWHERE = "127.0.0.1:0"
BOOTSTRAPS: dict[str, Any] = {one.name: import_module(f"shop.{one.name}.bootstrap") for one in SERVICES}
"""The module that wires each service, by the service's name."""


@asynccontextmanager
async def served_gateways(
    clients: Clients,
    public_key: Path,
    streams: Mapping[str, Streams] = MappingProxyType({}),
    runtime: Runtime = BARE,
    **settings: Any,
) -> AsyncIterator[dict[str, str]]:
    """Serves both gateways over clients of services; yields their addresses, by name.

    Without limits for the streams of updates of a gateway, it has no updates.
    """
    config = ServiceConfig(component="gateway", jwt_public_key_file=str(public_key), **settings)
    async with AsyncExitStack() as stack:
        addresses = {}
        for name, build_app in (("rest-gateway", rest_gateway), ("graphql-gateway", graphql_gateway)):
            app: Any = build_app(clients, Incoming(gateway_authenticator(config), runtime), streams=streams.get(name))
            server = http_server(app, ANYWHERE, sockets=name == "graphql-gateway")
            addresses[name] = await stack.enter_async_context(server)
        yield addresses


@asynccontextmanager
async def served_service(
    name: str,
    service: Any,
    public_key: Path | None,
    protocols: Iterable[str] = SCHEMES,
    runtime: Runtime = BARE,
    **settings: Any,
) -> AsyncIterator[dict[str, str]]:
    """Serves the use cases of a service over protocols; yields the address of each.

    Without a key, no token is valid.
    """
    listens = {f"listen_{protocol}": ANYWHERE for protocol in protocols}
    key = None if public_key is None else str(public_key)
    config = ServiceConfig(component=name, jwt_public_key_file=key, **listens, **settings)
    async with servers(config, BOOTSTRAPS[name].offer(service), runtime) as addresses:
        yield addresses
