"""Checks of whether a component answers; each is quick, and returns False rather than raise."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Callable
from pathlib import Path

from mesh.ports import HOST

Check = Callable[[], bool]
TIMEOUT_S = 0.5
"""How long one check may take."""


def tcp(port: int) -> Check:
    """Something accepts connections on the port."""

    def check() -> bool:
        try:
            socket.create_connection((HOST, port), timeout=TIMEOUT_S).close()
        except OSError:
            return False
        return True

    return check


def http_ok(port: int, path: str) -> Check:
    """`GET path` answers 200."""

    def check() -> bool:
        connection = http.client.HTTPConnection(HOST, port, timeout=TIMEOUT_S)
        try:
            connection.request("GET", path)
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    return check


def grpc_serving(port: int) -> Check:
    """`grpc.health.v1.Health/Check` answers SERVING for the whole server."""
    listening = tcp(port)

    def check() -> bool:
        # A gRPC channel that is refused once backs off for a second; so it is opened only when someone listens.
        if not listening():
            return False
        import grpc
        from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

        # Proxies of the environment are for the internet, not for this machine.
        with grpc.insecure_channel(f"{HOST}:{port}", options=[("grpc.enable_http_proxy", 0)]) as channel:
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
    """PostgreSQL says in its pid file that it takes connections, and does."""
    listening = tcp(port)

    def check() -> bool:
        try:
            lines = (data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        return len(lines) >= 8 and lines[7].strip() == "ready" and listening()

    return check
