"""A gRPC server with health checks, reflection, traces, deadlines, rich errors and a graceful stop."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, aclosing, asynccontextmanager
from typing import Any, cast

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from shop.contract.calls import Call, Service, access_of
from shop.contract.wire import Codec, protobuf_codecs
from shop.platform.config import socket_path, split_address
from shop.platform.deadline import lift
from shop.platform.errors import StartError
from shop.platform.grpc.handlers import Handler, guarded
from shop.platform.grpc.reflection import SERVICES, add_reflection
from shop.platform.incoming import Incoming
from shop.platform.process.unix_socket import bind_unix, grpc_target, unlink

GRACE_S = 3.0
OPTIONS: tuple[tuple[str, Any], ...] = (
    # Without this a second process on the same port would silently share its calls.
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", 4 * 1024 * 1024),
    # Clients may ping idle channels as often as `grpc_channel` does.
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
)


def options(connection_age_s: int) -> list[tuple[str, Any]]:
    """The server's options.

    Args:
        connection_age_s: After how long a client is told to connect anew, in seconds; 0 for never. Its calls go on
            undisturbed, and it looks its servers up again.
    """
    return [*OPTIONS, *([("grpc.max_connection_age_ms", connection_age_s * 1_000)] if connection_age_s else [])]


Register = Callable[[grpc.aio.Server], list[str]]
"""Adds servicers to a server and returns the full names of their services."""
Around = Mapping[str, Callable[[Mapping[str, str]], AbstractContextManager[None]]]
"""What surrounds the work of some calls, by their names; it is made of a call's metadata."""


def register(server: grpc.aio.Server, service: Service, use_cases: Any, around: Around | None = None) -> list[str]:
    """Adds the calls of a service to a server.

    Args:
        server: The server.
        service: The service.
        use_cases: Has a method for each of its calls.
        around: What surrounds the work of some of them; None for nothing.

    Returns:
        The full name of the service, for health checks and reflection.
    """
    codecs = protobuf_codecs(service)
    handlers = {
        call.name: _handler(call, codecs[call.name], getattr(use_cases, call.port), (around or {}).get(call.name))
        for call in service.calls
    }
    server.add_registered_method_handlers(service.full_name, handlers)
    return [service.full_name]


def _handler(
    row: Call,
    codec: Codec,
    method: Callable[..., Any],
    around: Callable[[Mapping[str, str]], AbstractContextManager[None]] | None,
) -> Handler:
    call, encode = codec.call, codec.answer

    async def answer(request: Any, _: object) -> Any:
        return encode(await call(method, request))

    async def answer_within(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
        assert around is not None
        with around(dict(context.invocation_metadata() or ())):  # type: ignore[arg-type]
            return await answer(request, context)

    async def stream(request: Any, _: object) -> AsyncGenerator[Any]:
        if row.lasts:
            lift()
        # Closed even when the caller goes away in the middle: it may hold a database connection.
        async with aclosing(call(method, request)) as parts:
            async for part in parts:
                yield encode(part)

    coders = codec.request_class.FromString, codec.answer_class.SerializeToString
    if row.streams:
        return grpc.unary_stream_rpc_method_handler(stream, *coders)
    return grpc.unary_unary_rpc_method_handler(answer if around is None else answer_within, *coders)


class _GuardingServer:
    """Takes servicers for a server, and guards each of their methods once: an interceptor would cost every call."""

    def __init__(self, server: grpc.aio.Server, incoming: Incoming) -> None:
        self._server = server
        self._incoming = incoming

    def add_generic_rpc_handlers(self, handlers: Sequence[grpc.GenericRpcHandler]) -> None:
        """Does nothing: generated code adds the same methods by their names, too."""

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Handler]) -> None:
        """Adds the methods of a service by their names."""
        methods = {
            name: guarded(handler, f"/{service}/{name}", access_of(service, name), self._incoming)
            for name, handler in handlers.items()
        }
        self._server.add_registered_method_handlers(service, methods)


@asynccontextmanager
async def grpc_server(
    listen: str,
    add: Register,
    incoming: Incoming,
    connection_age_s: int = 0,
    described: Sequence[str] = (),
) -> AsyncIterator[str]:
    """Runs a gRPC server for as long as the context lasts; at its end, calls under way get `GRACE_S` to finish.

    Args:
        listen: "host:port", where port 0 takes a free one, or "unix:" and the path of a socket.
        add: Adds the servicers.
        incoming: Answers calls.
        connection_age_s: After how long a client is told to connect anew, in seconds; 0 for never.
        described: Names of the components whose services reflection lists in addition.

    Yields:
        The address that it listens on, in the same form.

    Raises:
        StartError: The port or the socket is in use.
    """
    server = grpc.aio.server(options=options(connection_age_s))
    names = add(cast(grpc.aio.Server, _GuardingServer(server, incoming)))
    checks = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(checks, server)
    listed = dict.fromkeys([*names, *(SERVICES[component] for component in described)])
    add_reflection(list(listed), server)
    address = _bind(server, listen)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(server.stop, GRACE_S)
        stack.callback(unlink, listen)
        await server.start()
        for name in ("", *names):
            await checks.set(name, health_pb2.HealthCheckResponse.SERVING)
        # Runs before the stop: whoever checks health sends nothing new while calls finish.
        stack.push_async_callback(checks.enter_graceful_shutdown)
        yield address


def _bind(server: grpc.aio.Server, listen: str) -> str:
    path = socket_path(listen)
    if path is not None:
        # By itself, gRPC takes over a socket that another process listens on, and does not say why it cannot make one.
        bind_unix(path).close()
        server.add_insecure_port(grpc_target(path))
        return listen
    try:
        port = server.add_insecure_port(listen)
    except RuntimeError as error:
        raise StartError(
            f"cannot listen on {listen}: the port is in use or not allowed; free it, or set another SHOP_PORT_BASE"
        ) from error
    return f"{split_address(listen)[0]}:{port}"
