"""Readiness checks of components; each is quick, and returns False instead of raising."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

from mesh.description.ports import HOST

Check = Callable[[], bool]
TIMEOUT_S = 0.5
"""How long one check may take, in seconds."""


def accepts(at: int | Path, host: str = HOST) -> Check:
    """Checks that something accepts connections at a port or a Unix domain socket."""

    def check() -> bool:
        try:
            _connect(at, host).close()
        except OSError:
            return False
        return True

    return check


def _connect(at: int | Path, host: str, timeout_s: float | None = TIMEOUT_S) -> socket.socket:
    if isinstance(at, int):
        return socket.create_connection((host, at), timeout=timeout_s)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(timeout_s)
        connection.connect(str(at))
    except OSError:
        connection.close()
        raise
    return connection


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix domain socket; the time limit, in seconds, is for the connect and for each read."""

    def __init__(self, listener: Path, timeout_s: float = TIMEOUT_S) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._listener = listener

    def connect(self) -> None:
        self.sock = _connect(self._listener, "", self.timeout)


def http_ok(at: int | Path, path: str, host: str = HOST, trusted: Path | None = None) -> Check:
    """Checks that `GET path` answers 200; over TLS, if a file of trusted certificates is given."""
    context = ssl.create_default_context(cafile=str(trusted)) if trusted else None

    def check() -> bool:
        if not isinstance(at, int):
            connection: http.client.HTTPConnection = UnixConnection(at)
        elif context is None:
            connection = http.client.HTTPConnection(host, at, timeout=TIMEOUT_S)
        else:
            connection = http.client.HTTPSConnection(host, at, timeout=TIMEOUT_S, context=context)
        try:
            connection.request("GET", path)
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    return check


def grpc_serving(at: int | Path, host: str = HOST) -> Check:
    """Checks that `grpc.health.v1.Health/Check` answers SERVING for the whole server."""
    listening, target = accepts(at, host), f"{host}:{at}" if isinstance(at, int) else f"unix:{at}"

    def check() -> bool:
        # A refused gRPC channel backs off for a second, so it is opened only when something listens.
        if not listening():
            return False
        import grpc
        from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

        # Proxies that the environment names are for the internet, not for this machine.
        with grpc.insecure_channel(target, options=[("grpc.enable_http_proxy", 0)]) as channel:
            ask = channel.unary_unary(
                "/grpc.health.v1.Health/Check",
                request_serializer=HealthCheckRequest.SerializeToString,
                response_deserializer=HealthCheckResponse.FromString,
            )
            try:
                answer: HealthCheckResponse = ask(HealthCheckRequest(service=""), timeout=TIMEOUT_S)
            except grpc.RpcError:
                return False
        return bool(answer.status == HealthCheckResponse.SERVING)

    return check


def postmaster_ready(data: Path, port: int) -> Check:
    """Checks that PostgreSQL accepts connections, and that its pid file says so."""
    listening = accepts(port)

    def check() -> bool:
        try:
            lines = (data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        return len(lines) >= 8 and lines[7].strip() == "ready" and listening()

    return check
