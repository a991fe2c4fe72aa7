from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from stand_ins import LINKED

from mesh.description.ports import load_ports
from mesh.description.streams import LASTING, MAX_STREAMS
from mesh.description.switches import parse_switches
from mesh.description.topology import EDGE, GATEWAYS, SERVICES, Protocol, load_topology, names
from mesh.edge.envoy import render
from mesh.edge.plan import EdgePlan
from mesh.paths import RunFolder
from mesh.sidecars.certificates import Certificate, issue_all, make_authority
from mesh.sidecars.envoy import StaticMesh
from mesh.sidecars.workloads import workloads

PORTS = load_ports({"SHOP_PORT_BASE": "30000"})


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.of(30000, tmp_path)


@pytest.mark.parametrize("updates", ["off", "on"])
def test_a_sidecar_limits_every_answer_except_long_lived_ones(updates: str, folder: RunFolder) -> None:
    every = workloads(load_topology("hybrid", updates=updates), PORTS, folder)
    mesh = StaticMesh(every, PORTS, parse_switches(mesh="envoy"), {})
    unlimited = {
        (workload.name, listener["name"], route["match"]["safe_regex"]["regex"])
        for workload in every
        for listener in mesh.render(workload)["static_resources"]["listeners"]
        if listener["name"].startswith("outbound")
        for route in listener["filter_chains"][0]["filters"][0]["typed_config"]["route_config"]["virtual_hosts"][0][
            "routes"
        ]
        if route["route"]["timeout"] == "0s"
    }
    calls = [
        ("edge", "rest-gateway", Protocol.REST),
        ("edge", "graphql-gateway", Protocol.GRAPHQL),
        *((caller, "notification", Protocol.GRPC) for caller in ("rest-gateway", "graphql-gateway", "order")),
    ]
    lasting = {
        (caller, f"outbound|{callee}", path) for caller, callee, protocol in calls for path in LASTING[callee][protocol]
    }
    assert unlimited == (lasting if updates == "on" else set())


@pytest.mark.parametrize("topology", LINKED)
def test_only_links_are_permissions(topology: str, folder: RunFolder) -> None:
    every = workloads(load_topology(topology), PORTS, folder)
    certificates = {one.name: Certificate(Path("/chain"), Path("/key"), Path("/root")) for one in every}
    mesh = StaticMesh(every, PORTS, parse_switches(mesh="envoy", mtls="on"), certificates)
    permitted = set()
    for workload in every:
        for listener in mesh.render(workload)["static_resources"]["listeners"]:
            rbac, *_ = listener["filter_chains"][0]["filters"][0]["typed_config"]["http_filters"]
            if listener["name"].startswith("inbound"):
                for caller in rbac["typed_config"]["rules"]["policies"]["callers"]["principals"]:
                    name = caller["authenticated"]["principal_name"]["exact"].rpartition("/")[2]
                    permitted.add((name, workload.service, listener["address"]["socket_address"]["port_value"]))
    assert permitted == {(one.service, called.callee, called.port) for one in every for called in one.outbound}


STREAMING = {
    "rest": {"notification"},
    "grpc": {"notification"},
    "graphql": {"notification", "graphql-gateway"},
    "hybrid": {"notification", "graphql-gateway", "rest-gateway"},
}


@pytest.mark.parametrize("topology", STREAMING)
def test_clusters_with_streams_admit_the_maximum_number_of_streams(topology: str, folder: RunFolder) -> None:
    """This is so at the edge too, which calls its own sidecar in a mesh."""
    chosen = load_topology(topology, updates="on")
    every = workloads(chosen, PORTS, folder)
    mesh = StaticMesh(every, PORTS, parse_switches(mesh="envoy"), {})
    by_edge = next(workload for workload in every if workload.name == EDGE)
    proxies = {EDGE: (render(EdgePlan(chosen, PORTS, Path("/logs/edge.jsonl"), by_edge)), EDGE)}
    proxies |= {workload.sidecar: (mesh.render(workload), workload.service) for workload in every}
    led_to = set()
    for config, service in proxies.values():
        for cluster in config["static_resources"]["clusters"]:
            callee = service if cluster["name"].startswith("inbound") else cluster["name"].rpartition("|")[2]
            if callee in STREAMING[topology]:
                led_to.add(callee)
                (threshold,) = cluster["circuit_breakers"]["thresholds"]
                assert {threshold[f"max_{what}"] for what in ("connections", "requests", "pending_requests")} == {
                    MAX_STREAMS
                }, cluster["name"]
    assert led_to == STREAMING[topology]


@pytest.mark.integration
@pytest.mark.parametrize(
    "given", [{}, {"mtls": "on", "canary": "10", "delay": "order:2ms", "abort": "payment:1%", "admission": "on"}]
)
def test_envoy_accepts_the_configuration_of_every_sidecar(given: dict[str, str], folder: RunFolder) -> None:
    # Only one file of each shape is checked: to Envoy, files that differ only in numbers and names are equivalent.
    free = re.compile(rf"[0-9]+|{'|'.join((EDGE, *GATEWAYS, *SERVICES))}")
    accepted, switches = set(), parse_switches(mesh="envoy", **given)
    for topology in names():
        every = workloads(load_topology(topology), PORTS, folder, canary=switches.canary > 0)
        own = issue_all(make_authority(folder.keys / "ca"), every, folder) if switches.encrypted else {}
        for component in StaticMesh(every, PORTS, switches, own).components(folder):
            shape = free.sub("0", (folder.config / f"{component.name}.yaml").read_text(encoding="utf-8"))
            if shape in accepted:
                continue
            accepted.add(shape)
            argv = [*component.argv(), "--mode", "validate"]
            done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
            assert done.returncode == 0, f"{topology}, {component.name}: {done.stderr}"
