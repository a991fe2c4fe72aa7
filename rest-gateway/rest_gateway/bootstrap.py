"""Wires one process: settings, the services' clients, the application, the server."""

from __future__ import annotations

from rest_gateway.app import build_app
from shop.clients.connect import connect
from shop.platform.access.rules import gateway_authenticator
from shop.platform.access.streams import Streams
from shop.platform.config import CORE, NOTIFICATION, ServiceConfig, required
from shop.platform.http.server import http_server
from shop.platform.incoming import Incoming
from shop.platform.process.lifecycle import stop_signal
from shop.platform.process.runtime import Runtime

EXAMPLE_PEER = "grpc://127.0.0.1:18020"


async def serve(config: ServiceConfig, runtime: Runtime) -> None:
    """Serves the gateway until it is told to stop.

    Raises:
        ConfigError: A setting is missing or wrong.
        StartError: The port is in use.
    """
    listen = required(config.listen_http, "SHOP_LISTEN_HTTP", "127.0.0.1:18011")
    incoming = Incoming(gateway_authenticator(config), runtime)
    async with connect(_peers(config), config.component, config.sockets, runtime) as shop:
        streams = Streams() if NOTIFICATION in config.peers else None
        app = build_app(shop, incoming, config.page_token_key, streams)
        async with stop_signal() as stop, http_server(app, listen, config.drain_s):
            await stop.wait()
            if streams is not None:
                streams.close()


def _peers(config: ServiceConfig) -> dict[str, str]:
    """Returns the addresses of all services; the routes need each of them, but for notifications."""
    core = {name: required(config.peers.get(name), f"SHOP_PEER_{name.upper()}", EXAMPLE_PEER) for name in CORE}
    return {**config.peers, **core}
