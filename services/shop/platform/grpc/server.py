"""A gRPC server with health checks, reflection, traces, deadlines, rich errors and a graceful stop."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, aclosing, asynccontextmanager
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from shop.contract.calls import Call, Service
from shop.contract.wire import Codec, protobuf_codec
from shop.platform.config import StartError, socket_path, split_address
from shop.platform.deadline import lift
from shop.platform.grpc.handlers import Handler, guard
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


Handlers = Mapping[str, Mapping[str, Handler]]
"""The methods of services by their names, by the services' full names."""
Around = Mapping[str, Callable[[Mapping[str, str]], AbstractContextManager[None]]]
"""What surrounds the work of some calls, by their names; it is made of a call's metadata."""


def handlers_of(service: Service[Any], use_cases: Any, around: Around | None = None) -> Handlers:
    """Returns the methods of a service.

    Args:
        service: The service.
        use_cases: Has a method for each of its calls.
        around: What surrounds the work of some of them; None for nothing.
    """
    handlers = {
        call.name: _handler(call, protobuf_codec(call), getattr(use_cases, call.port), (around or {}).get(call.name))
        for call in service.calls
    }
    return {service.full_name: handlers}


def _handler(
    row: Call[..., object],
    codec: Codec[..., object],
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


@asynccontextmanager
async def grpc_server(
    listen: str,
    handlers: Handlers,
    incoming: Incoming,
    connection_age_s: int = 0,
    described: Sequence[str] = (),
) -> AsyncIterator[str]:
    """Runs a gRPC server for as long as the context lasts; at its end, calls under way get `GRACE_S` to finish.

    Args:
        listen: "host:port", where port 0 takes a free one, or "unix:" and the path of a socket.
        handlers: The methods to serve.
        incoming: Answers calls.
        connection_age_s: After how long a client is told to connect anew, in seconds; 0 for never.
        described: Names of the components whose services reflection lists in addition.

    Yields:
        The address that it listens on, in the same form.

    Raises:
        StartError: The port or the socket is in use.
    """
    server = grpc.aio.server(options=options(connection_age_s))
    for service, methods in handlers.items():
        # Each method is wrapped once: an interceptor would cost every call.
        guarded = {name: guard(handler, service, name, incoming) for name, handler in methods.items()}
        server.add_registered_method_handlers(service, guarded)
    checks = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(checks, server)
    listed = dict.fromkeys([*handlers, *(SERVICES[component] for component in described)])
    add_reflection(list(listed), server)
    address = _bind(server, listen)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(server.stop, GRACE_S)
        stack.callback(unlink, listen)
        await server.start()
        for name in ("", *handlers):
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
