"""The real shop with several processes of a gateway and of a service, behind the real edge."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from types import TracebackType
from typing import Self

import httpx
import pytest
from stand_ins import until

from mesh.description.ports import Ports
from mesh.description.switches import parse_switches
from mesh.description.topology import load_topology
from mesh.errors import PortError
from mesh.native.system import System
from mesh.supervisor.process_record import read_record

TRACE = "4bf92f3577b34da6a3ce929d0e0e47"
PARENT = "00f067aa0ba902b7"
LIMIT_S = 30.0
READERS = 4
BROKEN_OFF = 0
"""A pseudo status: the process was killed after it sent the head of an answer, and before the body."""


@pytest.fixture(scope="module")
def shop(shop_ports: Ports) -> Iterator[System]:
    switches = parse_switches(replicas="rest-gateway:2,product:2")
    with System(load_topology("hybrid"), switches, shop_ports, "replicas") as system:
        yield system


class Readers:
    """Clients that read a product through edge and gateway for the duration of the context, each up to 50 times a
    second."""

    def __init__(self, shop: System) -> None:
        self._url = f"{shop.url}/v1/products/1"
        self._done = threading.Event()
        self._threads = [threading.Thread(target=self._read, daemon=True) for _ in range(READERS)]
        self.answers: list[tuple[float, int]] = []  # time of each request, and its status

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        self.more()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        for thread in self._threads:
            thread.join(timeout=LIMIT_S)

    def more(self, count: int = 100) -> None:
        """Waits until this number of further reads has been answered."""
        until = len(self.answers) + count
        limit = time.monotonic() + LIMIT_S
        while len(self.answers) < until:
            assert time.monotonic() < limit
            time.sleep(0.01)

    def _read(self) -> None:
        with httpx.Client(trust_env=False, timeout=10) as client:
            while not self._done.is_set():
                asked = time.monotonic()
                try:
                    status = client.get(self._url).status_code
                except httpx.RemoteProtocolError:
                    status = BROKEN_OFF
                self.answers.append((asked, status))
                time.sleep(0.02)


def stored_spans(shop: System, trace: str) -> list[tuple[dict[str, str], int]]:
    """Returns the text attributes and the number of spans of each resource with spans in the trace."""
    answer = httpx.get(f"{shop.ports.url('jaeger-query-http')}/api/v3/traces/{trace}", trust_env=False)
    if answer.status_code != 200:
        return []
    return [
        (
            {each["key"]: each["value"].get("stringValue", "") for each in spans["resource"]["attributes"]},
            sum(len(scope["spans"]) for scope in spans["scopeSpans"]),
        )
        for spans in answer.json()["result"]["resourceSpans"]
    ]


def read(shop: System, trace: str) -> None:
    headers = {"traceparent": f"00-{trace}-{PARENT}-01"}
    httpx.get(f"{shop.url}/v1/products/1", headers=headers, trust_env=False, timeout=10).raise_for_status()


def test_spans_name_the_component_and_its_replica(shop: System) -> None:
    traces: list[str] = []

    def instances() -> set[tuple[str, str]]:
        # A replica that an earlier test ended is used again some seconds after its restart.
        traces.append(f"{TRACE}{len(traces):02x}")
        read(shop, traces[-1])
        resources = [resource for trace in traces for resource, _ in stored_spans(shop, trace)]
        return {(one["service.name"], one.get("service.instance.id", "")) for one in resources}

    components = [("rest-gateway", "rest-gateway"), ("product", "product"), ("product", "product-2")]
    expected = {("edge", ""), ("rest-gateway", "rest-gateway-2"), *components}
    until(lambda: len(instances()) >= len(expected), pause_s=0.5)
    assert instances() == expected


def test_resources_count_a_component_s_replicas_together(shop: System) -> None:
    counts = {component: len(pids) for component, pids in shop.pids().items() if component in shop.topology.components}
    assert counts == {"product": 2, "user": 1, "payment": 1, "order": 1, "rest-gateway": 2, "graphql-gateway": 1}


def test_a_further_replica_s_port_must_be_free(shop: System) -> None:
    with pytest.raises(PortError, match=r"127\.0\.1\.1:[0-9]+ \(product-grpc\)"):
        shop.ports.require_free(["product-grpc"])


@pytest.mark.parametrize("replica", ["rest-gateway-2", "product"])
def test_no_read_fails_when_a_replica_is_killed(shop: System, replica: str) -> None:
    with Readers(shop) as readers:
        shop.kill(replica)
        gone = time.monotonic()
        readers.more()
        shop.restart(replica)
        readers.more()
    failed = [asked - gone for asked, status in readers.answers if status != 200]
    # A request that the edge had sent to the process is lost if it may change data. A killed process accepts requests
    # until its sockets are closed; after that, each reader may get one connection that only seems to be open.
    lost = [seconds for seconds in failed if seconds > 0]
    assert not failed or replica == "rest-gateway-2", failed
    assert len(lost) <= READERS, failed


def test_a_replica_that_dies_is_named(shop: System) -> None:
    (pid,) = (started.pid for started in read_record(shop.folder) if started.component == "product-2")
    assert pid in shop.pids()["product"]
    os.kill(pid, signal.SIGKILL)
    assert [error.component for error in until(shop.find_dead)] == ["product-2"]
    shop.restart("product-2")


def test_every_span_of_the_last_request_arrives(shop: System) -> None:
    trace = f"{TRACE}99"
    read(shop, trace)
    shop.stop_serving()
    until(lambda: sum(spans for _, spans in stored_spans(shop, trace)) >= 7)
    counts = Counter[str]()
    for resource, spans in stored_spans(shop, trace):
        counts[resource["service.name"]] += spans
    assert counts == {"edge": 2, "rest-gateway": 2, "product": 3}
