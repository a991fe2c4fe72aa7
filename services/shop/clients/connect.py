"""Opens clients of the services that a process calls, each over the protocol that its address names."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from types import MappingProxyType
from typing import NoReturn, TypeVar, cast
from urllib.parse import urlsplit

import aiohttp
import grpc.aio

from shop.clients.graphql_channel import GraphQLPeer
from shop.clients.graphql_order import GraphQLOrderClient
from shop.clients.graphql_payment import GraphQLPaymentClient
from shop.clients.graphql_product import GraphQLProductClient
from shop.clients.graphql_user import GraphQLUserClient
from shop.clients.grpc_channels import ORDER, PAYMENT, PRODUCT, USER, Service
from shop.clients.grpc_order import GrpcOrderClient
from shop.clients.grpc_payment import GrpcPaymentClient
from shop.clients.grpc_product import GrpcProductClient
from shop.clients.grpc_user import GrpcUserClient
from shop.clients.http_channel import HttpChannel, http_session
from shop.clients.ports import Clients, OrderClient, PaymentClient, ProductClient, UserClient
from shop.clients.rest_channel import RestPeer
from shop.clients.rest_order import RestOrderClient
from shop.clients.rest_payment import RestPaymentClient
from shop.clients.rest_product import RestProductClient
from shop.clients.rest_user import RestUserClient
from shop.platform.errors import ConfigError
from shop.platform.grpc_client import Peer, grpc_channel

T = TypeVar("T")
CLOSE_LIMIT_S = 1.0
SCHEMES = ("grpc", "http", "graphql")
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
    peers: Mapping[str, str], component: str, sockets: Mapping[str, str] = _NO_SOCKETS
) -> AsyncIterator[Clients]:
    """Opens a channel to each service and keeps it for as long as the context lasts.

    A channel connects with its first call, so that processes may start in any order.

    Args:
        peers: Address of each service, by name: "grpc://127.0.0.1:18020", or of its replicas:
            "grpc://127.0.0.1:18020,127.0.1.1:18020". Services that are not called may be absent.
        component: The process that calls, for messages.
        sockets: Path of the Unix domain socket to connect in place of a service's address, by name.

    Yields:
        The clients; that of an absent service raises `ConfigError` when it is called.

    Raises:
        ConfigError: An address has an unknown protocol.
    """
    async with AsyncExitStack() as stack:
        sessions: dict[str | None, aiohttp.ClientSession] = {}

        async def http(service: Service, address: str) -> HttpChannel:
            socket = sockets.get(service.name)
            if socket not in sessions:
                sessions[socket] = await stack.enter_async_context(http_session(socket))
            channel = HttpChannel(sessions[socket], service.name, address.split(","), follow=socket is None)
            stack.push_async_callback(channel.close)
            return channel

        async def client(
            service: Service,
            over_grpc: Callable[[Peer, grpc.aio.Channel], T],
            over_rest: Callable[[RestPeer], T],
            over_graphql: Callable[[GraphQLPeer], T],
        ) -> T:
            address = peers.get(service.name)
            if address is None:
                return cast(T, _NotConnected(service.name, component))
            parts = urlsplit(address)
            if parts.scheme == "grpc":
                channel = grpc_channel(parts.netloc, service.full_name, service.reads, sockets.get(service.name))
                stack.push_async_callback(channel.close, CLOSE_LIMIT_S)
                return over_grpc(Peer(service.name, service.full_name, parts.netloc), channel)
            if parts.scheme == "http":
                return over_rest(RestPeer(await http(service, parts.netloc)))
            if parts.scheme == "graphql":
                return over_graphql(GraphQLPeer(await http(service, parts.netloc)))
            valid = " or ".join(f"{scheme}://host:port" for scheme in SCHEMES)
            raise ConfigError(f"SHOP_PEER_{service.name.upper()} is {address!r}; valid: {valid}")

        product: ProductClient = await client(PRODUCT, GrpcProductClient, RestProductClient, GraphQLProductClient)
        user: UserClient = await client(USER, GrpcUserClient, RestUserClient, GraphQLUserClient)
        order: OrderClient = await client(ORDER, GrpcOrderClient, RestOrderClient, GraphQLOrderClient)
        payment: PaymentClient = await client(PAYMENT, GrpcPaymentClient, RestPaymentClient, GraphQLPaymentClient)
        yield Clients(product=product, user=user, order=order, payment=payment)
