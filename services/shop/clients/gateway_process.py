"""Runs a gateway: a process that serves an application on top of the services' clients."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from starlette.types import ASGIApp

from shop.clients.protocol_by_address import connect
from shop.contract.ports import Clients
from shop.platform.access.rules import gateway_authenticator
from shop.platform.access.streams import Streams
from shop.platform.config import CORE, NOTIFICATION, ServiceConfig, require_setting
from shop.platform.http.server import http_server
from shop.platform.incoming import Incoming
from shop.platform.process.lifecycle import stop_signal
from shop.platform.process.runtime import Runtime

BuildApp: TypeAlias = Callable[[Clients, Incoming, Streams | None], ASGIApp]
"""Builds the application; `streams` is None if customers get no updates."""


async def serve_gateway(config: ServiceConfig, runtime: Runtime, build_app: BuildApp, *, sockets: bool = False) -> None:
    """Serves an application, with WebSockets or without, until SIGTERM; raises `ConfigError` or `StartError`."""
    listen = require_setting(config.listen_http, "SHOP_LISTEN_HTTP", "127.0.0.1:18010")
    incoming = Incoming(gateway_authenticator(config), runtime)
    for peer in CORE:
        require_setting(config.peers.get(peer), f"SHOP_PEER_{peer.upper()}", "grpc://127.0.0.1:18020")
    async with connect(config.peers, config.component, config.sockets, runtime) as clients:
        streams = Streams() if NOTIFICATION in config.peers else None
        app = build_app(clients, incoming, streams)
        sockets = sockets and streams is not None
        async with stop_signal() as stop, http_server(app, listen, config.drain_s, sockets=sockets):
            await stop.wait()
            if streams is not None:
                streams.close()
