from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mesh.components.keys import KeyPair
from mesh.components.postgres import Database
from mesh.components.shop_processes import Surroundings, environment, shop_component
from mesh.description.ports import load_ports
from mesh.description.streams import LASTING
from mesh.description.switches import Switches
from mesh.description.topology import Protocol, load_topology, names
from mesh.paths import RunFolder
from mesh.sidecars.envoy import repeatable_paths
from mesh.sidecars.workloads import Workload, callers, lasting_paths, link_of, weights, workloads

PORTS = load_ports({"SHOP_PORT_BASE": "30000"})


def of(topology: str, tmp_path: Path, *, canary: bool = False) -> dict[str, Workload]:
    folder = RunFolder.of(30000, tmp_path)
    return {workload.name: workload for workload in workloads(load_topology(topology), PORTS, folder, canary=canary)}


def around(topology: str, tmp_path: Path) -> Surroundings:
    database = Database("postgresql://me@db/postgres", embedded=False)
    keys, meshed = KeyPair(Path("/keys/private"), Path("/keys/public")), of(topology, tmp_path, canary=True)
    return Surroundings(load_topology(topology), Switches(), PORTS, database, keys, "t1", {}, meshed)


@pytest.mark.parametrize("topology", names())
def test_every_link_has_both_ends(topology: str, tmp_path: Path) -> None:
    found = of(topology, tmp_path, canary=True)
    loaded = load_topology(topology)
    assert set(found) == {"edge", "product-canary", *loaded.components}
    for workload in found.values():
        for outbound in workload.outbound:
            for callee in (other for other in found.values() if other.service == outbound.callee):
                assert callee.inbound_of(outbound.protocol).port == outbound.port
    sockets = [end.socket for workload in found.values() for end in (*workload.inbound, *workload.outbound)]
    assert len(set(sockets)) == len(sockets)
    assert len({workload.address for workload in found.values()}) == len(found)
    # This is the longest path that a Unix domain socket may have.
    assert max(len(str(socket)) for socket in sockets) <= 107


@pytest.mark.parametrize("topology", [name for name in names() if not load_topology(name).frames_thrift])
def test_behind_sidecars_nothing_of_the_shop_is_on_tcp(topology: str, tmp_path: Path) -> None:
    surroundings = replace(around(topology, tmp_path), switches=Switches(mesh="envoy", mtls="on"))
    for name, workload in surroundings.workloads.items():
        if name == "edge":
            continue
        env = environment(name, surroundings)
        listening = {key: value for key, value in env.items() if key.startswith("SHOP_LISTEN_")}
        assert listening
        assert all(value.startswith("unix:/") for value in listening.values())
        peers = {key.removeprefix("SHOP_PEER_") for key in env if key.startswith("SHOP_PEER_")}
        assert {key.removeprefix("SHOP_SOCKET_") for key in env if key.startswith("SHOP_SOCKET_")} == peers
        assert peers == {outbound.callee.upper() for outbound in workload.outbound}
        assert env["SHOP_EDGE_IDENTITY"] == "spiffe://cluster.local/ns/default/sa/edge"


def test_the_canary_is_a_product_service_of_its_own_name(tmp_path: Path) -> None:
    surroundings = around("hybrid", tmp_path)
    component = shop_component("product-canary", surroundings, frozenset())
    assert component.argv()[1:] == ["-m", "measured", "product"]
    assert component.env["SHOP_COMPONENT"] == "product-canary"
    assert component.env["SHOP_DATABASE_URL"].startswith("postgresql://shop_product:")
    assert "SHOP_EDGE_IDENTITY" not in component.env
    stable, canary = (surroundings.workloads[name] for name in ("product", "product-canary"))
    assert canary.identity == stable.identity
    assert canary.inbound[0].socket != stable.inbound[0].socket


def test_replicas_are_instances_of_one_service_with_separate_places(tmp_path: Path) -> None:
    ports = replace(PORTS, replicas={"product": 2})
    folder = RunFolder.of(30000, tmp_path)
    every = workloads(load_topology("hybrid"), ports, folder, canary=True)
    first, second, canary = (workload for workload in every if workload.service == "product")
    assert [workload.name for workload in (first, second, canary)] == ["product", "product-2", "product-canary"]
    assert (second.component, second.version, second.identity) == (first.component, first.version, first.identity)
    assert len({first.address, second.address, canary.address}) == 3
    assert len({workload.inbound[0].socket for workload in (first, second, canary)}) == 3
    assert {workload.inbound[0].port for workload in (first, second, canary)} == {PORTS["product-grpc"]}
    assert weights(every, "product", 10) == {"stable": 90, "canary": 10}


def test_callers_and_links(tmp_path: Path) -> None:
    hybrid, rest = of("hybrid", tmp_path), of("rest", tmp_path)
    assert callers([*hybrid.values()], "payment", Protocol.GRPC) == ["graphql-gateway", "order", "rest-gateway"]
    assert callers([*hybrid.values()], "graphql-gateway", Protocol.GRAPHQL) == ["edge"]
    assert callers([*rest.values()], "payment", Protocol.REST) == ["edge", "order"]
    assert callers([*rest.values()], "payment", Protocol.GRPC) == []
    assert link_of("order", "payment", load_topology("hybrid")) == "order -> payment"
    assert link_of("edge", "rest-gateway", load_topology("hybrid")) == "partner -> rest-gateway"
    assert link_of("edge", "payment", load_topology("rest")) == "client -> payment"
    assert link_of("edge", "order", load_topology("hybrid-transcoded")) == "transcoder -> order"


@pytest.mark.parametrize(("name", "others"), [("grpc", {"edge"}), ("hybrid", {"graphql-gateway", "rest-gateway"})])
def test_notification_is_called_by_its_entry_and_order_only_and_answers_last_with_updates_only(
    tmp_path: Path, name: str, others: set[str]
) -> None:
    folder = RunFolder.of(30000, tmp_path)
    without = workloads(load_topology(name), PORTS, folder)
    every = workloads(load_topology(name, updates="on"), PORTS, folder)
    assert set(callers(every, "notification", Protocol.GRPC)) == {"order", *others}
    assert "notification" in callers(every, "order", Protocol.GRPC)
    assert not {workload.service for workload in without} & {"notification"}
    for service, by_protocol in LASTING.items():
        for protocol in Protocol:
            assert lasting_paths(every, service, protocol) == by_protocol.get(protocol, ())
            assert not lasting_paths(without, service, protocol)


@pytest.mark.parametrize(
    ("canary", "service", "expected"),
    [(10, "product", {"stable": 90, "canary": 10}), (100, "product", {"canary": 100}), (10, "user", {"stable": 100})],
)
def test_weights(tmp_path: Path, canary: int, service: str, expected: dict[str, int]) -> None:
    assert weights([*of("hybrid", tmp_path, canary=True).values()], service, canary) == expected
    assert weights([*of("hybrid", tmp_path).values()], service, 0) == {"stable": 100}


def test_only_calls_that_change_nothing_may_be_repeated() -> None:
    paths = {path for service in ("product", "user", "order", "payment") for path in repeatable_paths(service)}
    methods = {path.rpartition("/")[2] for path in paths}
    assert {"GetProduct", "BatchGetUsers", "StreamOrderLines", "BatchGetPaymentsByOrder"} <= methods
    assert not methods & {"ReserveStock", "Checkout", "AuthorizePayment", "CapturePayment", "UpdateUser", "Login"}
