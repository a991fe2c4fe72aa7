"""A gRPC server with health checks, reflection, traces, deadlines, rich errors and a graceful stop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2

from shop.contract import calls
from shop.platform.config import port_in_use, socket_path, split_address
from shop.platform.grpc.handlers import Handlers
from shop.platform.process.unix_socket import bind_unix, grpc_target, unlink

VERSIONS = ("grpc.reflection.v1.ServerReflection", reflection.SERVICE_NAME)
"""The names of both versions of the reflection service; their messages are the same."""
SERVICES = {service.name: service.full_name for service in calls.SERVICES}
"""Full name of each service of the contract, by the name of its component."""

GRACE_S = 3.0
MAX_PENDING = 4_096
"""Maximum number of calls that wait for a busy event loop: more than the edge lets through at once."""
LOW = 1
"""gRPC's fastest level of compression."""
OPTIONS: tuple[tuple[str, int], ...] = (
    # Without this option, a second process on the same port would silently get a share of the calls.
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", 4 * 1024 * 1024),
    # Clients may ping idle channels as often as `grpc_channel` does.
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    # By default, from 1,000 waiting calls on, gRPC cancels some of the new ones, without a reason for the client.
    ("grpc.server.max_pending_requests", MAX_PENDING),
    ("grpc.server.max_pending_requests_hard_limit", MAX_PENDING),
)


def options(connection_age_s: int = 0, *, compresses: bool = False) -> list[tuple[str, int]]:
    """Returns the server's options; with `compresses`, gRPC compresses where both the client and the size allow it.

    After `connection_age_s` seconds, a client is asked to reconnect; 0 for no limit. Calls continue undisturbed, and
    the client looks its servers up again.
    """
    aged = [("grpc.max_connection_age_ms", connection_age_s * 1_000)] if connection_age_s else []
    return [*OPTIONS, *aged, *([("grpc.default_compression_level", LOW)] if compresses else [])]


@asynccontextmanager
async def grpc_server(
    listen: str,
    handlers: Mapping[str, Handlers],
    server_options: Sequence[tuple[str, int]] | None = None,
    described: Sequence[str] = (),
) -> AsyncIterator[str]:
    """Runs a gRPC server until the context ends, like `http_server`; calls in flight then get `GRACE_S` to finish.

    Args:
        handlers: The methods to serve, by the full names of their services.
        described: Names of the components whose services reflection lists in addition.
    """
    server = grpc.aio.server(options=options() if server_options is None else server_options)
    for service, methods in handlers.items():
        server.add_registered_method_handlers(service, methods)
    checks = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(checks, server)
    listed = dict.fromkeys([*handlers, *(SERVICES[component] for component in described)])
    _add_reflection(list(listed), server)
    address = _bind(server, listen)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(server.stop, GRACE_S)
        stack.callback(unlink, listen)
        await server.start()
        for name in ("", *handlers):
            await checks.set(name, health_pb2.HealthCheckResponse.SERVING)
        # This runs before the stop: clients that check health then send no new calls while calls in flight finish.
        stack.push_async_callback(checks.enter_graceful_shutdown)
        yield address


def _add_reflection(names: Sequence[str], server: grpc.aio.Server) -> None:
    """Adds reflection to a server. It describes the whole contract, and lists the named services."""
    servicer = reflection.aio.ReflectionServicer([*names, *VERSIONS])
    describe = grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    for version in VERSIONS:
        server.add_registered_method_handlers(version, {"ServerReflectionInfo": describe})


def _bind(server: grpc.aio.Server, listen: str) -> str:
    path = socket_path(listen)
    if path is not None:
        # gRPC would take over a socket that another process listens on, and not say why it cannot create one.
        bind_unix(path).close()
        server.add_insecure_port(grpc_target(path))
        return listen
    try:
        port = server.add_insecure_port(listen)
    except RuntimeError as error:
        raise port_in_use(listen, "the port is in use or not allowed") from error
    return f"{split_address(listen)[0]}:{port}"
