from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from http.server import ThreadingHTTPServer

import httpx
import pytest
from stand_ins import QuietHandler, edge_run, needs_kong, until

from mesh.description.places import Place
from mesh.description.ports import Ports
from mesh.description.topology import load_topology
from mesh.edge import limits
from mesh.edge.component import ACCESS_LOG
from mesh.edge.plan import edge_plan
from mesh.paths import RunFolder

pytestmark = [pytest.mark.integration, needs_kong]

ADDRESSES = ("127.0.0.1", "127.0.1.2")


class Replica(QuietHandler):
    def do_GET(self) -> None:  # noqa: N802  http.server calls it by this name
        # A stopped stand-in would keep serving its open connections.
        self.answer(str(self.server.server_address[0]).encode(), connection="close")


@pytest.fixture
def replicas(ports: Ports) -> Iterator[list[ThreadingHTTPServer]]:
    servers = [ThreadingHTTPServer((address, ports["graphql-gateway"]), Replica) for address in ADDRESSES]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    yield servers
    for server in servers:
        server.shutdown()
        server.server_close()


def count_replicas(client: httpx.Client, count: int = 20) -> Counter[str]:
    return Counter(client.get("/graphql").text for _ in range(count))


def test_one_kind_of_journey_reaches_its_separate_components(
    ports: Ports, folder: RunFolder, replicas: list[ThreadingHTTPServer]
) -> None:
    plan = edge_plan(load_topology("hybrid"), ports, folder.logs / ACCESS_LOG)
    shared = plan.upstreams["graphql-gateway"]
    own = replace(shared, places=(Place(ADDRESSES[1], ports["graphql-gateway"]),), journey="bulk_lines")
    plan = replace(plan, apart={"graphql-gateway": own})
    with (
        edge_run(plan, ports, folder, "kong"),
        httpx.Client(base_url=ports.url("edge"), trust_env=False, timeout=10) as client,
    ):
        assert count_replicas(client) == {ADDRESSES[0]: 20}
        client.headers[limits.JOURNEY] = "browse"
        assert count_replicas(client) == {ADDRESSES[0]: 20}
        client.headers[limits.JOURNEY] = "bulk_lines"
        assert count_replicas(client) == {ADDRESSES[1]: 20}


def test_replicas_share_requests_and_a_dead_one_gets_none(
    ports: Ports, folder: RunFolder, replicas: list[ThreadingHTTPServer]
) -> None:
    plan = edge_plan(load_topology("hybrid"), ports, folder.logs / ACCESS_LOG)
    places = tuple(Place(address, ports["graphql-gateway"]) for address in ADDRESSES)
    gateway = replace(plan.upstreams["graphql-gateway"], places=places)
    plan = replace(plan, upstreams={**plan.upstreams, "graphql-gateway": gateway})
    with (
        edge_run(plan, ports, folder, "kong"),
        httpx.Client(base_url=ports.url("edge"), trust_env=False, timeout=10) as client,
    ):
        assert count_replicas(client) == dict.fromkeys(ADDRESSES, 10)
        gone = replicas.pop()
        gone.shutdown()
        gone.server_close()
        assert count_replicas(client) == {ADDRESSES[0]: 20}
        back = ThreadingHTTPServer((ADDRESSES[1], ports["graphql-gateway"]), Replica)
        threading.Thread(target=back.serve_forever, daemon=True).start()
        replicas.append(back)
        until(lambda: ADDRESSES[1] in count_replicas(client))
