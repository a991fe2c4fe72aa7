"""Opens clients for the services that a process calls, each over the protocol that the service's address names."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from types import MappingProxyType
from typing import NoReturn, TypeVar
from urllib.parse import urlsplit

from shop.contract.calls import NOTIFICATION, ORDER, PAYMENT, PRODUCT, USER, Call, Service
from shop.contract.ports import Clients
from shop.platform.config import ConfigError, ServiceConfig
from shop.platform.process.runtime import BARE, Runtime

P = TypeVar("P")
HTTP_SCHEMES = ("http", "graphql", "thrift-json")
_MODULES = {"grpc": "grpc", "http": "rest", "graphql": "graphql", "thrift-json": "thrift", "thrift": "thrift"}
"""The module that makes the clients, for each address scheme."""


def _not_connected(service: Service[P], component: str) -> P:
    """Returns a client for a service without an address; every call raises an error that names the variable to set."""

    def make(call: Call[..., object]) -> Callable[..., NoReturn]:
        def refuse(*_: object, **__: object) -> NoReturn:
            variable = f"SHOP_PEER_{service.name.upper()}"
            raise ConfigError(f"{component} calls {service.name}.{call.port}, but {variable} is not set")

        return refuse

    return service.implement(make)


@asynccontextmanager
async def connect(
    peers: Mapping[str, str], component: str, sockets: Mapping[str, str] = MappingProxyType({}), runtime: Runtime = BARE
) -> AsyncIterator[Clients]:
    """Opens a channel to each service and keeps it open for as long as the context lasts.

    A channel connects on its first call, so that processes may start in any order. Calls of a service without an
    address raise `ConfigError`, as does an address with an unknown protocol.

    Args:
        peers: Address of each service, by name: "grpc://127.0.0.1:18020". Commas separate the addresses of replicas.
        component: Name of the calling process, for messages.
        sockets: Paths of Unix domain sockets, by service name; calls go to the socket instead of the service's address.
    """
    async with AsyncExitStack() as stack:

        def client(service: Service[P]) -> P:
            address = peers.get(service.name)
            if address is None:
                return _not_connected(service, component)
            parts, socket = urlsplit(address), sockets.get(service.name)
            # Imported here, so that a process loads only the protocols that it uses for calls.
            if parts.scheme == "grpc":
                from shop.clients.grpc import grpc_client

                return grpc_client(stack, service, parts.netloc, socket, runtime)
            if parts.scheme == "thrift":
                from shop.clients.thrift import framed_client

                return framed_client(stack, service, parts.netloc, socket, runtime)
            if parts.scheme in HTTP_SCHEMES:
                from shop.clients.http_channel import HttpChannel

                lasts = parts.scheme == "graphql" and service.name == NOTIFICATION.name
                channel = HttpChannel(service.name, parts.netloc.split(","), socket, runtime, lasts=lasts)
                stack.push_async_callback(channel.close)
                if parts.scheme == "http":
                    from shop.clients.rest import rest_client

                    return rest_client(service, channel)
                if parts.scheme == "graphql":
                    from shop.clients.graphql import graphql_client

                    return graphql_client(service, channel)
                from shop.clients.thrift import tjson_client

                return tjson_client(service, channel)
            valid = " or ".join(f"{scheme}://host:port" for scheme in _MODULES)
            raise ConfigError(f"SHOP_PEER_{service.name.upper()} is {address!r}; valid: {valid}")

        yield Clients(
            product=client(PRODUCT),
            user=client(USER),
            order=client(ORDER),
            payment=client(PAYMENT),
            notification=client(NOTIFICATION),
        )


def import_clients(config: ServiceConfig) -> None:
    """Imports the modules that `connect` would otherwise import when it opens the clients of a process."""
    for scheme in {urlsplit(address).scheme for address in config.peers.values()}:
        importlib.import_module(f"shop.clients.{_MODULES[scheme]}")
