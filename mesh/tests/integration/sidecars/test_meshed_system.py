"""The shop itself in a mesh: what can be dialled, and what can be read on the wire."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Self

import httpx
import psutil
import pytest
from stand_ins import needs_istio

from mesh.description.ports import Ports
from mesh.description.switches import parse_switches
from mesh.description.topology import load_topology
from mesh.native.system import System

pytestmark = pytest.mark.integration

MARKER = "marker-4f1c9e"


@pytest.fixture(scope="module", params=["envoy", pytest.param("istio", marks=needs_istio)])
def shop(request: pytest.FixtureRequest, shop_ports: Ports) -> Iterator[System]:
    switches = parse_switches(mesh=request.param, mtls="on")
    with System(load_topology("hybrid"), switches, shop_ports, "meshed") as system:
        yield system


def test_only_proxies_database_and_trace_store_listen_on_tcp(shop: System) -> None:
    listening: dict[str, set[str]] = {}
    for component, pids in shop.pids().items():
        for pid in pids:
            with contextlib.suppress(psutil.NoSuchProcess):
                for connection in psutil.Process(pid).net_connections("tcp"):
                    if connection.status == psutil.CONN_LISTEN:
                        listening.setdefault(component, set()).add(connection.laddr.ip)
    sidecars = {workload.sidecar: {workload.address} for workload in shop.workloads if workload.inbound}
    others = {"edge": {"127.0.0.1"}, "jaeger": {"127.0.0.1"}, "postgres": {"127.0.0.1"}}
    if shop.switches.mesh == "istio":
        others["istiod"] = {"127.0.0.1"}
    assert listening == sidecars | others


def test_the_sockets_are_the_user_s_alone(shop: System) -> None:
    assert shop.folder.sockets.stat().st_mode & 0o077 == 0
    assert shop.folder.sockets.stat().st_uid == os.getuid()


def test_nothing_that_travels_between_sidecars_can_be_read(shop: System) -> None:
    ports = shop.ports
    # The client and the edge speak plain HTTP, and PostgreSQL and the trace store are outside of the mesh.
    outside = {ports["edge"], ports["postgres"], *(ports[name] for name in ports.offsets if name.startswith("jaeger-"))}
    body = {"email": f"{MARKER}@example.com", "password": MARKER}
    with Capture() as capture:
        for _ in range(5):
            assert httpx.post(f"{shop.url}/v1/sessions", json=body, timeout=10).status_code == 401
    seen = {frozenset(pair) for pair in capture.ports_of(MARKER.encode())}
    assert any(ports["edge"] in pair for pair in seen), "the capture missed what is sent in plain text"
    inside = {pair for pair in seen if not pair & outside}
    assert inside == set()
    facts = shop.sidecar_facts()
    assert facts is not None
    assert (facts.refused, facts.silent) == (0, 0)


class Capture:
    """Every TCP segment on the loopback interface. Only root may listen to it."""

    def __init__(self) -> None:
        if not hasattr(os, "geteuid") or os.geteuid() != 0:
            pytest.skip("only root may capture packets: nobody has looked for plain text on the wire")
        try:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
        except PermissionError:
            pytest.skip("packets may not be captured here: nobody has looked for plain text on the wire")
        self._socket.bind(("lo", 0))
        self._socket.settimeout(0.2)
        self._segments: list[bytes] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join(timeout=10)
        self._socket.close()

    def ports_of(self, wanted: bytes) -> Iterator[tuple[int, int]]:
        """Source and destination port of each TCP segment that holds these bytes."""
        for packet in self._segments:
            header = 4 * (packet[0] & 0x0F)
            if packet[9] == socket.IPPROTO_TCP and wanted in packet:
                yield int.from_bytes(packet[header : header + 2]), int.from_bytes(packet[header + 2 : header + 4])

    def _listen(self) -> None:
        while not self._done.is_set():
            with contextlib.suppress(TimeoutError):
                self._segments.append(self._socket.recv(65535))
