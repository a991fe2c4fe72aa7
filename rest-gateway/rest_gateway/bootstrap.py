"""Starts the gateway."""

from __future__ import annotations

from rest_gateway.app import build_app
from shop.clients.gateway_process import serve_gateway
from shop.platform.config import ServiceConfig
from shop.platform.process.runtime import Runtime


async def serve(config: ServiceConfig, runtime: Runtime) -> None:
    await serve_gateway(
        config, runtime, lambda clients, incoming, streams: build_app(clients, incoming, config.page_token_key, streams)
    )
