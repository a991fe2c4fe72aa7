"""Wires one process: settings, the services' clients, the application, the server."""

from __future__ import annotations

from pathlib import Path

from rest_gateway.app import build_app
from shop.clients.connect import connect
from shop.platform.auth import TokenVerifier
from shop.platform.config import PEERS, ConfigError, ServiceConfig, required
from shop.platform.http_server import serve_http

EXAMPLE_PEER = "grpc://127.0.0.1:18020"


async def serve(config: ServiceConfig) -> None:
    """Serves the gateway until it is told to stop.

    Args:
        config: Where to listen, where the services are, and which key verifies tokens.

    Raises:
        ConfigError: A setting is missing or wrong.
        StartError: The port is in use.
    """
    listen = required(config.listen_http, "SHOP_LISTEN_HTTP", "127.0.0.1:18011")
    verifier = _verifier(required(config.jwt_public_key_file, "SHOP_JWT_PUBLIC_KEY_FILE", ".run/jwt_public.pem"))
    async with connect(_peers(config), config.component) as shop:
        await serve_http(build_app(shop, verifier, config.page_token_key), listen)


def _peers(config: ServiceConfig) -> dict[str, str]:
    """Returns the addresses of all services; the routes need each of them."""
    return {name: required(config.peers.get(name), f"SHOP_PEER_{name.upper()}", EXAMPLE_PEER) for name in PEERS}


def _verifier(path: str) -> TokenVerifier:
    try:
        return TokenVerifier(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"SHOP_JWT_PUBLIC_KEY_FILE is {path!r}, which cannot be used ({error}); it must be an Ed25519 public key "
            "in PEM form"
        ) from error
