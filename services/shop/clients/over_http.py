"""Clients of services that are called over HTTP: REST, GraphQL or Thrift's TJSON."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

import aiohttp

from shop.clients.graphql.channel import GraphQLPeer
from shop.clients.graphql.notification import GraphQLNotificationClient
from shop.clients.graphql.order import GraphQLOrderClient
from shop.clients.graphql.payment import GraphQLPaymentClient
from shop.clients.graphql.product import GraphQLProductClient
from shop.clients.graphql.user import GraphQLUserClient
from shop.clients.http_channel import CONNECTIONS, HttpChannel, http_session
from shop.clients.rest.channel import RestPeer
from shop.clients.rest.notification import RestNotificationClient
from shop.clients.rest.order import RestOrderClient
from shop.clients.rest.payment import RestPaymentClient
from shop.clients.rest.product import RestProductClient
from shop.clients.rest.user import RestUserClient
from shop.contract.calls import NOTIFICATION, ORDER, PAYMENT, PRODUCT, USER, Service

_REST: Mapping[Service, type[RestPeer]] = {
    PRODUCT: RestProductClient,
    USER: RestUserClient,
    ORDER: RestOrderClient,
    PAYMENT: RestPaymentClient,
    NOTIFICATION: RestNotificationClient,
}
_GRAPHQL: Mapping[Service, type[GraphQLPeer]] = {
    PRODUCT: GraphQLProductClient,
    USER: GraphQLUserClient,
    ORDER: GraphQLOrderClient,
    PAYMENT: GraphQLPaymentClient,
    NOTIFICATION: GraphQLNotificationClient,
}
_LASTING = ("graphql", NOTIFICATION)
"""What has answers that last, each of which keeps a connection."""


class OverHttp:
    """Makes clients whose services are called over HTTP.

    Args:
        stack: Closes their channels.
        sockets: Path of the Unix domain socket to connect in place of a service's address, by name.
    """

    def __init__(self, stack: AsyncExitStack, sockets: Mapping[str, str]) -> None:
        self._stack = stack
        self._sockets = sockets
        self._sessions: dict[tuple[str | None, bool], aiohttp.ClientSession] = {}

    async def client(self, scheme: str, service: Service, address: str) -> Any:
        """Returns a client of a service.

        Args:
            scheme: "http" for REST, "graphql" or "thrift-json".
            service: The service.
            address: "host:port", or those of its replicas with commas between.
        """
        socket, lasts = self._sockets.get(service.name), (scheme, service) == _LASTING
        if (socket, lasts) not in self._sessions:
            session = http_session(socket, connections=0 if lasts else CONNECTIONS)
            self._sessions[socket, lasts] = await self._stack.enter_async_context(session)
        session_of = self._sessions[socket, lasts]
        channel = HttpChannel(session_of, service.name, address.split(","), follow=socket is None)
        self._stack.push_async_callback(channel.close)
        if scheme == "thrift-json":
            from shop.clients.over_thrift import over_http

            return over_http(service, channel)
        return _REST[service](channel) if scheme == "http" else _GRAPHQL[service](channel)
