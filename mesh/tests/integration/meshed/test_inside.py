"""What an observer inside a mesh can read: packets on the wire, and metrics."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Self

import httpx
import pytest
from stand_ins.prometheus import ask, needs_prometheus, until, value

from mesh.native.system import System

MARKER = "marker-4f1c9e"
MAX_SERIES = 250
"""Maximum number of metric series of a sidecar that calls five services: a histogram per service and direction."""
EJECTED = "envoy_cluster_outlier_detection_ejections_active"


def test_nothing_that_travels_between_sidecars_can_be_read(meshed: System) -> None:
    ports = meshed.ports
    # The client and the edge speak plain HTTP, and the database and the trace store are outside of the mesh.
    stores = ("postgres", "valkey", "jaeger-")
    outside = {ports["edge"], *(ports[name] for name in ports.offsets if name.startswith(stores))}
    body = {"email": f"{MARKER}@example.com", "password": MARKER}
    with Capture() as capture:
        for _ in range(5):
            assert httpx.post(f"{meshed.url}/v1/sessions", json=body, timeout=10).status_code == 401
    seen = {frozenset(pair) for pair in capture.ports_of(MARKER.encode())}
    assert any(ports["edge"] in pair for pair in seen), "the capture missed what is sent in plain text"
    inside = {pair for pair in seen if not pair & outside}
    assert inside == set()
    facts = meshed.sidecar_facts()
    assert facts is not None
    assert (facts.refused, facts.silent) == (0, 0)


@needs_prometheus
def test_each_sidecar_shows_a_bounded_number_of_series(meshed: System) -> None:
    if meshed.switches.mesh == "istio":
        pytest.skip("Istio's sidecars have other names for their metrics")
    components = {one.component for one in meshed.workloads}
    up = 'up{job=~".*-sidecar"} == 1'
    until(lambda: len(ask(meshed, "query", query=up)["result"]) == len(components))
    labels = [one["metric"] for one in ask(meshed, "query", query=up)["result"]]
    assert {(one["job"], one["component"]) for one in labels} == {(f"{name}-sidecar", name) for name in components}
    query = {"query": '{ products(first: 2, category: "books") { edges { node { id } } } }'}

    def passed() -> bool:
        with httpx.Client(base_url=meshed.url, trust_env=False) as client:
            assert client.post("/graphql", json=query).status_code == 200
        calls = 'envoy_cluster_upstream_rq_xx{component="graphql-gateway", envoy_cluster_name=~"outbound.*product"}'
        return value(meshed, calls) > 0

    until(passed)
    answered = 'envoy_http_downstream_rq_xx{component="product", envoy_response_code_class="2"}'
    until(lambda: value(meshed, answered) > 0)
    assert value(meshed, 'min(envoy_server_days_until_first_cert_expiring{component!=""})') > 7
    counted = ask(meshed, "query", query='count by (component) ({component!="", __name__=~"envoy_.*"})')["result"]
    assert {one["metric"]["component"] for one in counted} == components
    assert max(float(one["value"][1]) for one in counted) < MAX_SERIES
    (gateway,) = (one for one in meshed.workloads if one.component == "graphql-gateway")
    assert f"\n{EJECTED}{{" in httpx.get(f"http://{gateway.metrics}/stats/prometheus", trust_env=False).text


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
        """Yields the source and the destination port of each TCP segment that contains these bytes."""
        for packet in self._segments:
            header = 4 * (packet[0] & 0x0F)
            if packet[9] == socket.IPPROTO_TCP and wanted in packet:
                yield int.from_bytes(packet[header : header + 2]), int.from_bytes(packet[header + 2 : header + 4])

    def _listen(self) -> None:
        while not self._done.is_set():
            with contextlib.suppress(TimeoutError):
                self._segments.append(self._socket.recv(65535))
