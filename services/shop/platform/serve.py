"""The servers of one service: the same use cases over each protocol that the configuration names."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from shop.platform.access.rules import Authenticator, service_authenticator
from shop.platform.config import ServiceConfig
from shop.platform.errors import ConfigError
from shop.platform.grpc.server import Register, grpc_server
from shop.platform.process.lifecycle import stop_signal

BuildApp = Callable[[Authenticator], Any]
"""Builds the ASGI application of a protocol; the authenticator decides who is admitted."""


@dataclass(frozen=True, slots=True)
class Protocols:
    """What serves a service over each protocol.

    An application is built only where it is served, so that a process pays for no framework that it does not use.

    Attributes:
        grpc: Adds the servicers to a gRPC server.
        rest: Builds the REST application.
        graphql: Builds the GraphQL application.
    """

    grpc: Register
    rest: BuildApp
    graphql: BuildApp


def protocols_of(package: str, service: Any, register: Register, *of_rest: object) -> Protocols:
    """Returns what serves use cases by the adapters of their package, which are called like the protocols.

    Args:
        package: Package of the service.
        service: Its use cases.
        register: Adds the servicers to a gRPC server.
        of_rest: What the REST adapter gets beside the use cases and the authenticator.
    """

    def app(protocol: str, *more: object) -> BuildApp:
        def build(authenticator: Authenticator) -> Any:
            # Here, so that a process loads neither FastAPI nor Strawberry without need.
            return importlib.import_module(f"{package}.{protocol}").build_app(service, authenticator, *more)

        return build

    return Protocols(grpc=register, rest=app("rest", *of_rest), graphql=app("graphql"))


def listening(config: ServiceConfig) -> dict[str, str]:
    """Returns the address of each protocol that is to be served, at least one.

    Raises:
        ConfigError: There is none.
    """
    asked = {"grpc": config.listen_grpc, "rest": config.listen_rest, "graphql": config.listen_graphql}
    addresses = {protocol: address for protocol, address in asked.items() if address is not None}
    if not addresses:
        variables = ", ".join(f"SHOP_LISTEN_{protocol.upper()}" for protocol in asked)
        raise ConfigError(f"nothing to listen on; set at least one of {variables}, as SHOP_LISTEN_GRPC=127.0.0.1:18020")
    return addresses


@asynccontextmanager
async def servers(config: ServiceConfig, protocols: Protocols) -> AsyncIterator[dict[str, str]]:
    """Runs the servers that the configuration names for as long as the context lasts.

    Args:
        config: Says where to listen, and which key verifies tokens.
        protocols: What serves each protocol.

    Yields:
        The address that each protocol is served on, by its name: "grpc", "rest", "graphql".

    Raises:
        ConfigError: No protocol is to be served.
        StartError: A port or a socket is in use.
    """
    authenticator = service_authenticator(config)
    async with AsyncExitStack() as stack:
        addresses = {}
        for protocol, listen in listening(config).items():
            if protocol == "grpc":
                server = grpc_server(listen, protocols.grpc, authenticator, config.connection_age_s)
            else:
                # Here and below, so that a process loads neither uvicorn nor Strawberry without need.
                from shop.platform.http.server import http_server

                build: BuildApp = getattr(protocols, protocol)
                app = build(authenticator)
                if protocol == "graphql":
                    from shop.platform.graphql.graphiql import GraphiQL

                    app = GraphiQL(app, config.graphiql)
                server = http_server(app, listen, config.drain_s)
            addresses[protocol] = await stack.enter_async_context(server)
        yield addresses


def import_adapters(package: str, config: ServiceConfig) -> None:
    """Imports what `servers` would otherwise import when it builds its servers.

    Raises:
        ConfigError: No protocol is to be served.
    """
    for protocol in listening(config):
        if protocol != "grpc":
            importlib.import_module(f"{package}.{protocol}")
            importlib.import_module("shop.platform.http.server")


async def run_servers(config: ServiceConfig, protocols: Protocols) -> None:
    """Serves what the configuration names until SIGTERM or SIGINT.

    Raises:
        ConfigError: No protocol is to be served.
        StartError: A port or a socket is in use.
    """
    async with stop_signal() as stop, servers(config, protocols):
        await stop.wait()
