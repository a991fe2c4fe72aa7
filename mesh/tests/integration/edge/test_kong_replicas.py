from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import httpx
import pytest
from stand_ins import QuietHandler, edge_run, needs_kong, serve, until

from mesh.description.ports import HOST, Ports
from mesh.description.topology import load_topology
from mesh.edge import limits
from mesh.edge.component import ACCESS_LOG
from mesh.edge.plan import EdgePlan
from mesh.paths import RunFolder

pytestmark = needs_kong

SECOND, APART = "127.0.1.1", "127.0.8.1"


class Replica(QuietHandler):
    def do_GET(self) -> None:  # noqa: N802  http.server calls it by this name
        # A stopped stand-in would keep serving its open connections.
        self.answer(str(self.server.server_address[0]).encode(), connection="close")


def count_replicas(client: httpx.Client, count: int = 20) -> Counter[str]:
    return Counter(client.get("/graphql").text for _ in range(count))


@pytest.fixture
def client(ports: Ports) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=ports.url("edge"), trust_env=False, timeout=10) as made:
        yield made


def test_one_kind_of_journey_reaches_its_separate_components(
    ports: Ports, folder: RunFolder, client: httpx.Client
) -> None:
    log = folder.logs / ACCESS_LOG
    plan = EdgePlan(load_topology("hybrid"), ports, log, apart=("bulk_lines", ports.apart))
    places = ((host, ports["graphql-gateway"]) for host in (HOST, APART))
    with serve(Replica, *places), edge_run(plan, ports, folder, "kong"):
        assert count_replicas(client) == {HOST: 20}
        for journey, reached in (("browse", HOST), ("bulk_lines", APART)):
            client.headers[limits.JOURNEY] = journey
            assert count_replicas(client) == {reached: 20}


def test_replicas_share_requests_and_a_dead_one_gets_none(
    ports: Ports, folder: RunFolder, client: httpx.Client
) -> None:
    several, port = replace(ports, replicas={"graphql-gateway": 2}), ports["graphql-gateway"]
    plan = EdgePlan(load_topology("hybrid"), several, folder.logs / ACCESS_LOG)
    second = ExitStack()
    with second, serve(Replica, (HOST, port)), edge_run(plan, ports, folder, "kong"):
        second.enter_context(serve(Replica, (SECOND, port)))
        assert count_replicas(client) == {HOST: 10, SECOND: 10}
        second.close()
        assert count_replicas(client) == {HOST: 20}
        second.enter_context(serve(Replica, (SECOND, port)))
        until(lambda: SECOND in count_replicas(client))
