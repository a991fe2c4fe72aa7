"""The servers of one service: the same use cases over each protocol that the configuration names."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from starlette.types import ASGIApp

from shop.contract.calls import Service
from shop.platform.access.owners import apply_owner_rules
from shop.platform.access.rules import service_authenticator
from shop.platform.config import ConfigError, ServiceConfig
from shop.platform.incoming import Around, Incoming
from shop.platform.process.lifecycle import stop_signal
from shop.platform.process.runtime import BARE, Runtime

_ADAPTERS = {
    "grpc": "shop.platform.grpc.server",
    "rest": "shop.{service}.rest",
    "graphql": "shop.platform.graphql.service",
    "federation": "shop.platform.graphql.subgraph",
    "thrift": "shop.platform.thrift.server",
    "thrift_entrance": "shop.platform.thrift.server",
    "thrift_json": "shop.platform.thrift.over_http",
    "connect": "shop.platform.connect.server",
}
"""The module that serves each protocol."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A service, offered over every protocol.

    Attributes:
        of_rest: Further arguments for the REST adapter, after the use cases and the handler of requests.
        around: Contexts in which the work of some calls runs, by the names of the calls: over gRPC and Connect, and for
            clients also over GraphQL. None for no contexts.
    """

    service: Service[object]
    use_cases: object
    of_rest: Sequence[object] = ()
    around: Mapping[str, Around] | None = None


def listening(config: ServiceConfig) -> dict[str, str]:
    """Returns the address of each protocol to serve, at least one; raises `ConfigError` if there is none."""
    asked = {
        "grpc": config.listen_grpc,
        "rest": config.listen_rest,
        "graphql": config.listen_graphql,
        "federation": config.listen_federation,
        "thrift": config.listen_thrift,
        "thrift_entrance": config.listen_thrift_entrance,
        "thrift_json": config.listen_thrift_json,
        "connect": config.listen_connect,
    }
    addresses = {protocol: address for protocol, address in asked.items() if address is not None}
    if not addresses:
        variables = ", ".join(f"SHOP_LISTEN_{protocol.upper()}" for protocol in asked)
        example = "SHOP_LISTEN_GRPC=127.0.0.1:18020"
        raise ConfigError(f"nothing to listen on; set at least one of {variables}, such as {example}")
    return addresses


@asynccontextmanager
async def servers(config: ServiceConfig, offer: Offer, runtime: Runtime = BARE) -> AsyncIterator[dict[str, str]]:
    """For as long as the context lasts, runs the servers that the configuration names.

    Yields the address of each protocol, by its name: "grpc", "rest", "thrift_json" and so on. Raises `ConfigError` if
    there is no protocol to serve, and `StartError` if a port or a socket is in use.
    """
    incoming = Incoming(service_authenticator(config), runtime)
    use_cases = apply_owner_rules(offer.service, offer.use_cases)
    async with AsyncExitStack() as stack:
        addresses = {}
        for protocol, listen in listening(config).items():
            server = _server(protocol, listen, config, offer, use_cases, incoming)
            addresses[protocol] = await stack.enter_async_context(server)
        yield addresses


def _server(
    protocol: str, listen: str, config: ServiceConfig, offer: Offer, use_cases: object, incoming: Incoming
) -> AbstractAsyncContextManager[str]:
    """Returns the server of one protocol; its module is imported here, so that a process loads only what it uses."""
    service = offer.service
    if protocol == "grpc":
        from shop.platform.grpc.handlers import handlers_of
        from shop.platform.grpc.server import grpc_server, options

        handlers = {service.full_name: handlers_of(service, use_cases, incoming, offer.around)}
        of_config = options(config.connection_age_s, compresses=config.grpc_compression)
        return grpc_server(listen, handlers, of_config, config.reflection)
    if protocol in ("thrift", "thrift_entrance"):
        from shop.platform.thrift.processor import Processor
        from shop.platform.thrift.server import framed_server

        is_outside = protocol == "thrift_entrance"
        return framed_server(listen, Processor(service, use_cases), incoming, from_outside=is_outside)
    from shop.platform.http.server import http_server

    if protocol == "thrift_json":
        from shop.platform.thrift.over_http import http_app
        from shop.platform.thrift.processor import Processor

        app: ASGIApp = http_app(config.component, Processor(service, use_cases), incoming)
    elif protocol == "connect":
        from shop.platform.connect.server import connect_app

        app = connect_app(service, use_cases, incoming, offer.around, compresses=config.grpc_compression)
    elif protocol == "rest":
        app = importlib.import_module(f"shop.{service.name}.rest").build_app(use_cases, incoming, *offer.of_rest)
    elif protocol == "federation":
        from shop.platform.graphql.subgraph import subgraph_app

        app = subgraph_app(service, use_cases, incoming, offer.around)
    else:
        from shop.platform.graphql.service import graphql_app

        app = graphql_app(service, use_cases, incoming, offer.around)
        if config.graphiql is not None:
            from shop.platform.graphql.graphiql import GraphiQL

            app = GraphiQL(app, config.graphiql)
    return http_server(app, listen, config.drain_s)


def import_adapters(service: str, config: ServiceConfig) -> None:
    """Imports the modules that `servers` would otherwise import when it builds its servers; raises its errors."""
    for protocol in listening(config):
        importlib.import_module(_ADAPTERS[protocol].format(service=service))
        if protocol != "grpc":
            importlib.import_module("shop.platform.http.server")


async def run_servers(config: ServiceConfig, offer: Offer, runtime: Runtime) -> None:
    """Until SIGTERM or SIGINT, serves the protocols that the configuration names."""
    async with stop_signal() as stop, servers(config, offer, runtime):
        await stop.wait()
