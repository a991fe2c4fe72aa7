"""A mesh with stand-in components: the sidecars are real, and the components behind them echo their requests."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socketserver
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import SHUT_RDWR
from typing import Any

import httpx
import pytest

from mesh.description.ports import Ports
from mesh.description.switches import Switches
from mesh.description.topology import CLIENT, EDGE, Topology, load_topology, names, port_name
from mesh.edge.component import edge_component
from mesh.edge.plan import EdgePlan
from mesh.istio.mesh import IstioMesh
from mesh.paths import ROOT, RunFolder
from mesh.sidecars.certificates import Authority, issue_all, make_authority
from mesh.sidecars.envoy import StaticMesh
from mesh.sidecars.workloads import Outbound, Workload, workloads
from mesh.supervisor.processes import Component
from mesh.supervisor.run import Run

needs_istio = pytest.mark.skipif(
    not (ROOT / ".tools" / "bin" / "istiod").is_file(), reason="Istio is not built: run `make istio`"
)
"""For tests that run Istio's programs, which the default set-up does not build."""
LIMIT_S = 60.0
KONG = shutil.which(os.environ.get("KONG_BIN") or "kong")
NO_KONG = "there is no Kong: install its official package, or set KONG_BIN"
needs_kong = pytest.mark.skipif(KONG is None, reason=NO_KONG)
"""For tests that run Kong, which set-up cannot fetch."""


def _links(topology: Topology) -> str:
    inside = {caller: called for caller, called in topology.links.items() if caller != CLIENT}
    return repr((topology.exposed, sorted(topology.gateways), inside))


LINKED = sorted(
    {_links(load_topology(name)): name for name in reversed(names()) if not load_topology(name).federates}.values()
)
"""One topology for each set of links, for tests that do not depend on clients or programs."""
DEPLOYED = [*LINKED, *(name for name in names() if (one := load_topology(name)).programs and not one.federates)]
"""One topology for each deployment; topologies that differ only in clients or in a gateway's plan count as equal."""


class QuietHandler(BaseHTTPRequestHandler):
    """Keeps connections open, and logs nothing."""

    protocol_version = "HTTP/1.1"

    def answer(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Logs nothing."""


class _Server(ThreadingHTTPServer):
    """Accepts as many concurrent connections as the edges open."""

    request_queue_size = 128


@contextlib.contextmanager
def serve(handler: type[QuietHandler], *places: tuple[str, int]) -> Iterator[None]:
    """Runs an HTTP server at each of these addresses and ports for the duration of the context."""
    servers = [_Server(place, handler) for place in places]
    for server in servers:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


class Handler(QuietHandler):
    """Answers with the request. `x-sleep` delays it, `x-fail` names a failure status, and `x-fail-first` fails once."""

    server: StandIn

    def do_GET(self) -> None:
        own = self.server
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        own.requests += 1
        time.sleep(float(self.headers.get("x-sleep", "0")))
        status = int(self.headers.get("x-fail", "200"))
        first = self.headers.get("x-fail-first", "")
        if first and own.seen[first] == 0:
            status = 503
        own.seen[first] += 1
        answer = {"served_by": own.name, "path": self.path, "headers": dict(self.headers), "body": body.decode()}
        self.answer(json.dumps(answer).encode(), status)

    do_POST = do_GET  # noqa: N815 (http.server's name)


class StandIn(socketserver.ThreadingUnixStreamServer):
    """An HTTP server that replaces a component, and counts the requests that have arrived."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, name: str, socket: Path) -> None:
        super().__init__(str(socket), Handler)
        self.name = name
        self.requests = 0
        self.seen: Counter[str] = Counter()
        self.connections: list[Any] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Closes all connections and accepts no more, as if the process died."""
        self.shutdown()
        self.server_close()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(SHUT_RDWR)

    def get_request(self) -> tuple[Any, Any]:
        """Returns a connection and a placeholder address, because clients of a Unix domain socket have no address."""
        connection, _ = super().get_request()
        self.connections.append(connection)
        return connection, ("local", 0)


def until(condition: Callable[[], Any], pause_s: float = 0.05) -> Any:
    """Waits until a condition returns a true value; returns that value."""
    limit = time.monotonic() + LIMIT_S
    while not (there := condition()):
        assert time.monotonic() < limit, "it never came to be"
        time.sleep(pause_s)
    return there


def edge_run(plan: EdgePlan, ports: Ports, folder: RunFolder, program: str = "envoy") -> Run:
    return Run(ports, folder, [EDGE], lambda: [edge_component(program, plan, folder, os.environ)])


class MeshRun(Run):
    """Sidecars of a topology that speaks HTTP/1.1, and stand-ins behind them."""

    def __init__(self, topology: Topology, switches: Switches, ports: Ports, folder: RunFolder) -> None:
        ports = replace(ports, replicas=switches.replicas)
        super().__init__(ports, folder)
        self.workloads = workloads(topology, ports, folder, canary=switches.canary > 0)
        self.istio = IstioMesh(self.workloads, topology, ports, switches, folder)
        self.switches = switches
        self.authority: Authority | None = None
        self.stand_ins: dict[str, StandIn] = {}

    def require_free(self) -> None:
        """Checks that no other mesh uses this mesh's addresses."""
        super().require_free()
        for workload in self.workloads:
            own = [port_name(workload.service, inbound.protocol) for inbound in workload.inbound]
            self.ports.require_free(own, at=workload.address)

    def components(self) -> Sequence[Component]:
        for workload in self.workloads:
            for inbound in workload.inbound:
                self.stand_ins[workload.name] = StandIn(workload.name, inbound.socket)
        return self.sidecars()

    def sidecars(self) -> Sequence[Component]:
        """Returns the sidecars with static configuration, or Istio's sidecars."""
        self.authority = make_authority(self.folder.keys / "ca")
        if self.switches.mesh == "istio":
            return self.istio.components(self.authority)
        certificates = issue_all(self.authority, self.workloads, self.folder) if self.switches.encrypted else {}
        return StaticMesh(self.workloads, self.ports, self.switches, certificates).components(self.folder)

    def tidy(self) -> None:
        for stand_in in self.stand_ins.values():
            stand_in.stop()

    def workload(self, name: str) -> Workload:
        return next(workload for workload in self.workloads if workload.name == name)

    def outbound(self, caller: str, callee: str) -> Outbound:
        return next(outbound for outbound in self.workload(caller).outbound if outbound.callee == callee)

    def caller(self, caller: str, callee: str) -> httpx.Client:
        """Returns a client that calls as a component does, through its own sidecar."""
        outbound = self.outbound(caller, callee)
        transport = httpx.HTTPTransport(uds=str(outbound.socket))
        return httpx.Client(transport=transport, base_url=f"http://{outbound.authority}", timeout=10)
