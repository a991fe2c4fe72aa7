"""Wires one process: settings, the services' clients, the application, the server."""

from __future__ import annotations

from rest_gateway.app import build_app
from shop.clients.connect import connect
from shop.platform.access.rules import gateway_authenticator
from shop.platform.config import PEERS, ServiceConfig, required
from shop.platform.http.server import serve_http

EXAMPLE_PEER = "grpc://127.0.0.1:18020"


async def serve(config: ServiceConfig) -> None:
    """Serves the gateway until it is told to stop.

    Raises:
        ConfigError: A setting is missing or wrong.
        StartError: The port is in use.
    """
    listen = required(config.listen_http, "SHOP_LISTEN_HTTP", "127.0.0.1:18011")
    authenticator = gateway_authenticator(config)
    async with connect(_peers(config), config.component, config.sockets) as shop:
        await serve_http(build_app(shop, authenticator, config.page_token_key), listen, config.drain_s)


def _peers(config: ServiceConfig) -> dict[str, str]:
    """Returns the addresses of all services; the routes need each of them."""
    return {name: required(config.peers.get(name), f"SHOP_PEER_{name.upper()}", EXAMPLE_PEER) for name in PEERS}
