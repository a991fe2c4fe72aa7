"""Acts as another local user: `python stranger.py UID`, run by root; reads targets from standard input, and prints what
this user could access."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import ssl
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import psycopg

NOTHING = "/no-such-page"
ASKED = (
    # Envoy
    *("/certs", "/clusters", "/config_dump", "/contention", "/help", "/listeners", "/logging", "/memory", "/ready"),
    *("/runtime", "/server_info", "/stats", "/stats/prometheus", "/tap"),
    # istiod, pilot-agent and other Go programs
    *("/debug", "/debug/adsz", "/debug/config_dump", "/debug/configz", "/debug/list", "/debug/mesh", "/debug/syncz"),
    *("/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/heap", "/debug/vars", "/healthz/ready", "/inject"),
    *("/argz", "/configz", "/envz", "/memz/", "/scopez/", "/metrics", "/version", "/stats/merged"),
    # Jaeger, which is an OpenTelemetry Collector, and Kong
    *("/config", "/debug/extensionz", "/debug/servicez", "/debug/tracez", "/status", "/status/ready", "/services"),
)
TOLD = (
    *("/logging?level=debug", "/healthcheck/fail", "/reset_counters", "/runtime_modify?a=b", "/cpuprofiler?enable=y"),
    *("/debug/adsz?push=true", "/debug/cachez?clear=true", "/debug/force_disconnect", "/config", "/services"),
    *("/api/archive/4bf92f3577b34da6a3ce929d0e0e4736", "/drain", "/drain_listeners", "/quitquitquit"),
)
"""The request that ends the process is last."""
ADS = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
TYPE = b"type.googleapis.com/envoy.config.cluster.v3.Cluster"
NODE = b"sidecar~127.0.0.5~product.default~default.svc.cluster.local"


def try_to_open(paths: list[str]) -> Iterator[str]:
    for path in paths:
        for way in (os.O_RDONLY, os.O_WRONLY):
            with contextlib.suppress(OSError):
                os.close(os.open(path, way | os.O_NONBLOCK))
                yield path


def try_to_connect(sockets: list[str]) -> Iterator[str]:
    for path in sockets:
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, kind) as mine:
                mine.connect(f"\0{path[1:]}" if path.startswith("@") else path)
                yield path


def request(host: str, port: int, method: str, path: str, *, tls: bool = False) -> tuple[int, bytes] | None:
    """Sends a request; returns the status and the body of the answer, or None if no answer came."""
    connection = http.client.HTTPConnection(host, port, timeout=5)
    try:
        if tls:
            connection.connect()
            context = ssl._create_unverified_context()
            connection.sock = context.wrap_socket(connection.sock)
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def pages(host: str, port: int, *, tls: bool) -> Iterator[str]:
    """Yields the pages whose answers differ from the answer for a missing page."""
    for method, paths in (("GET", ASKED), ("POST", TOLD)):
        nowhere = request(host, port, method, NOTHING, tls=tls)
        if tls and nowhere is None:
            continue  # the port speaks no TLS, and each attempt might time out
        for path in paths:
            answer = request(host, port, method, path, tls=tls)
            if answer is not None and answer != nowhere and 200 <= answer[0] < 300:
                yield f"{method} {path}"


def request_configuration(host: str, port: int, trusted: str) -> Iterator[str]:
    """Whether a port sends a sidecar's configuration to any caller, as istiod's port would."""
    # A DiscoveryRequest: its node (field 2), whose id is field 1, and the requested type (field 4).
    node = b"\x0a" + bytes([len(NODE)]) + NODE
    request = b"\x12" + bytes([len(node)]) + node + b"\x22" + bytes([len(TYPE)]) + TYPE
    options = [("grpc.enable_http_proxy", 0), ("grpc.ssl_target_name_override", "istiod.istio-system.svc")]
    channels = {"plain": grpc.insecure_channel(f"{host}:{port}", options)}
    if trusted:
        credentials = grpc.ssl_channel_credentials(trusted.encode())
        channels["TLS"] = grpc.secure_channel(f"{host}:{port}", credentials, options)
    for over, channel in channels.items():
        with contextlib.suppress(grpc.RpcError), channel:
            next(iter(channel.stream_stream(ADS)(iter([request]), timeout=5)))
            yield f"xDS, {over}"


def try_to_log_in(host: str, port: int, roles: list[str]) -> Iterator[str]:
    for role in roles:
        with contextlib.suppress(psycopg.OperationalError):
            psycopg.connect(host=host, port=port, user=role, dbname="postgres", connect_timeout=5).close()
            yield role


def look_into(pids: list[int]) -> Iterator[str]:
    for pid in pids:
        for name in ("environ", "mem", "maps", "fd"):
            path = f"/proc/{pid}/{name}"
            with contextlib.suppress(OSError):
                os.listdir(path) if name == "fd" else Path(path).open("rb").close()
                yield path


def command_lines(pids: list[int]) -> Iterator[str]:
    for pid in pids:
        with contextlib.suppress(OSError):
            yield Path(f"/proc/{pid}/cmdline").read_text()


def run(task: dict[str, Any]) -> dict[str, Any]:
    listeners = {f"{host}:{port}": (host, port) for host, port in task["listeners"]}
    return {
        "opened": list(try_to_open(task["paths"])),
        "connected": list(try_to_connect(task["sockets"])),
        "looked into": list(look_into(task["pids"])),
        "command lines": list(command_lines(task["pids"])),
        "open": [
            name
            for name, place in listeners.items()
            if any(request(*place, "GET", NOTHING, tls=tls) for tls in (False, True))
        ],
        "pages": {
            name: [
                *(page for tls in (False, True) for page in pages(*place, tls=tls)),
                *request_configuration(*place, task["trusted"]),
            ]
            for name, place in listeners.items()
        },
        "roles": list(try_to_log_in("127.0.0.1", task["database"], task["roles"])),
    }


if __name__ == "__main__":
    given = json.load(sys.stdin)
    # Later imports must not need files that only root may read, so first connections import the remaining modules.
    request("127.0.0.1", given["database"], "GET", NOTHING, tls=True)
    list(try_to_log_in("127.0.0.1", given["database"], ["nobody"]))
    grpc.insecure_channel("127.0.0.1:1").close()
    os.setgroups([])
    os.setgid(int(sys.argv[1]))
    os.setuid(int(sys.argv[1]))
    json.dump(run(given), sys.stdout)
