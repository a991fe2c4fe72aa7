"""Clients of services that are called over HTTP: REST, GraphQL or Thrift's TJSON."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

import aiohttp

from shop.clients.graphql.client import GraphQLClient
from shop.clients.http_channel import CONNECTIONS, HttpChannel, http_session
from shop.clients.rest.client import RestClient
from shop.contract.calls import NOTIFICATION, Service
from shop.platform.process.runtime import Runtime

_LASTING = ("graphql", NOTIFICATION)
"""What has answers that last, each of which keeps a connection."""


class OverHttp:
    """Makes clients whose services are called over HTTP.

    Args:
        stack: Closes their channels.
        sockets: Path of the Unix domain socket to connect in place of a service's address, by name.
        runtime: What traces and measures the calls.
    """

    def __init__(self, stack: AsyncExitStack, sockets: Mapping[str, str], runtime: Runtime) -> None:
        self._runtime = runtime
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
        channel = HttpChannel(session_of, service.name, address.split(","), self._runtime, follow=socket is None)
        self._stack.push_async_callback(channel.close)
        if scheme == "thrift-json":
            from shop.clients.over_thrift import over_http

            return over_http(service, channel)
        return RestClient(service, channel) if scheme == "http" else GraphQLClient(service, channel)
