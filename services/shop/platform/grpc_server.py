"""A gRPC server with health checks, reflection, traces, deadlines, rich errors and a graceful stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from shop.platform.config import ServiceConfig, required, split_address
from shop.platform.grpc_handlers import Handler, guarded
from shop.platform.lifecycle import StartError, run, stop_signal

__all__ = ["Register", "grpc_server", "run", "serve_grpc"]

GRACE_S = 3.0
OPTIONS: tuple[tuple[str, Any], ...] = (
    # Without this a second process on the same port would silently share its calls.
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", 4 * 1024 * 1024),
    # Clients may ping idle channels as often as `grpc_channel` does.
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
)

Register = Callable[[grpc.aio.Server], list[str]]
"""Adds servicers to a server and returns the full names of their services."""


class _Guard(grpc.aio.ServerInterceptor):
    """Guards each method of the shop once; health checks and reflection stay as they are, and untraced."""

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        method = handler_call_details.method
        known = self._handlers.get(method)
        if known is not None:
            return known
        handler = await continuation(handler_call_details)
        # No handler: the method is not there, which gRPC itself answers.
        if handler is None or method.startswith("/grpc."):
            return handler
        self._handlers[method] = guarded(handler, method)
        return self._handlers[method]


@asynccontextmanager
async def grpc_server(listen: str, add: Register) -> AsyncIterator[str]:
    """Runs a gRPC server for as long as the context lasts; at its end, calls under way get `GRACE_S` to finish.

    Args:
        listen: "host:port"; port 0 takes a free one.
        add: Adds the servicers.

    Yields:
        The address that it listens on, "host:port".

    Raises:
        StartError: The port is in use.
    """
    server = grpc.aio.server(interceptors=[_Guard()], options=OPTIONS)
    names = add(server)
    checks = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(checks, server)
    reflection.enable_server_reflection([*names, health.SERVICE_NAME, reflection.SERVICE_NAME], server)
    port = _bind(server, listen)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(server.stop, GRACE_S)
        await server.start()
        for name in ("", *names):
            await checks.set(name, health_pb2.HealthCheckResponse.SERVING)
        # Runs before the stop: whoever checks health sends nothing new while calls finish.
        stack.push_async_callback(checks.enter_graceful_shutdown)
        yield f"{split_address(listen)[0]}:{port}"


async def serve_grpc(config: ServiceConfig, add: Register, *, stop: asyncio.Event | None = None) -> None:
    """Serves gRPC until SIGTERM or SIGINT.

    Args:
        config: Says where to listen.
        add: Adds the servicers.
        stop: Ends the server in place of the signals, where one process runs several.

    Raises:
        ConfigError: SHOP_LISTEN_GRPC is not set.
        StartError: The port is in use.
    """
    listen = required(config.listen_grpc, "SHOP_LISTEN_GRPC", "127.0.0.1:18020")
    async with AsyncExitStack() as stack:
        ended = stop if stop is not None else await stack.enter_async_context(stop_signal())
        await stack.enter_async_context(grpc_server(listen, add))
        await ended.wait()


def _bind(server: grpc.aio.Server, listen: str) -> int:
    try:
        return server.add_insecure_port(listen)
    except RuntimeError as error:
        raise StartError(
            f"cannot listen on {listen}: the port is in use or not allowed; free it, or set another SHOP_PORT_BASE"
        ) from error
