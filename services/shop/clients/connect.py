"""Opens clients of the services that a process calls, each over the protocol that its address names."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

from shop.clients.ports import Clients
from shop.contract.calls import NOTIFICATION, ORDER, PAYMENT, PRODUCT, USER, Service
from shop.platform.config import ConfigError, ServiceConfig
from shop.platform.process.runtime import BARE, Runtime

if TYPE_CHECKING:
    from shop.clients.over_http import OverHttp

HTTP_SCHEMES = ("http", "graphql", "thrift-json")
SCHEMES = ("grpc", *HTTP_SCHEMES, "thrift")
_NO_SOCKETS: Mapping[str, str] = MappingProxyType({})


class _NotConnected:
    """Stands for a service that this process has no address of; calling it names the missing variable.

    Args:
        name: The service.
        component: The process that would call it.
    """

    def __init__(self, name: str, component: str) -> None:
        self._name = name
        self._component = component

    def __getattr__(self, method: str) -> Callable[..., NoReturn]:
        def refuse(*_: object, **__: object) -> NoReturn:
            variable = f"SHOP_PEER_{self._name.upper()}"
            raise ConfigError(f"{self._component} calls {self._name}.{method}, but {variable} is not set")

        return refuse


@asynccontextmanager
async def connect(
    peers: Mapping[str, str],
    component: str,
    sockets: Mapping[str, str] = _NO_SOCKETS,
    runtime: Runtime = BARE,
) -> AsyncIterator[Clients]:
    """Opens a channel to each service and keeps it for as long as the context lasts.

    A channel connects with its first call, so that processes may start in any order.

    Args:
        peers: Address of each service, by name: "grpc://127.0.0.1:18020", or of its replicas:
            "grpc://127.0.0.1:18020,127.0.1.1:18020". Services that are not called may be absent.
        component: The process that calls, for messages.
        sockets: Path of the Unix domain socket to connect in place of a service's address, by name.
        runtime: What traces and measures the calls.

    Yields:
        The clients; that of an absent service raises `ConfigError` when it is called.

    Raises:
        ConfigError: An address has an unknown protocol.
    """
    async with AsyncExitStack() as stack:
        over_http: OverHttp | None = None

        async def client(service: Service) -> Any:
            nonlocal over_http
            address = peers.get(service.name)
            if address is None:
                return _NotConnected(service.name, component)
            parts = urlsplit(address)
            # Here, so that a process loads nothing for protocols over which it calls nobody.
            if parts.scheme == "grpc":
                from shop.clients.over_grpc import over_grpc

                return over_grpc(stack, service, parts.netloc, sockets.get(service.name), runtime)
            if parts.scheme == "thrift":
                from shop.clients.over_thrift import framed

                return framed(stack, service, parts.netloc, sockets.get(service.name), runtime)
            if parts.scheme in HTTP_SCHEMES:
                if over_http is None:
                    from shop.clients.over_http import OverHttp

                    over_http = OverHttp(stack, sockets, runtime)
                return await over_http.client(parts.scheme, service, parts.netloc)
            valid = " or ".join(f"{scheme}://host:port" for scheme in SCHEMES)
            raise ConfigError(f"SHOP_PEER_{service.name.upper()} is {address!r}; valid: {valid}")

        yield Clients(
            product=await client(PRODUCT),
            user=await client(USER),
            order=await client(ORDER),
            payment=await client(PAYMENT),
            notification=await client(NOTIFICATION),
        )


def import_clients(config: ServiceConfig) -> None:
    """Imports what `connect` would otherwise import when it opens the clients of a process."""
    for scheme in {urlsplit(address).scheme for address in config.peers.values()}:
        if scheme == "grpc":
            importlib.import_module("shop.clients.over_grpc")
        if scheme in HTTP_SCHEMES:
            importlib.import_module("shop.clients.over_http")
        if scheme.startswith("thrift"):
            importlib.import_module("shop.clients.over_thrift")
