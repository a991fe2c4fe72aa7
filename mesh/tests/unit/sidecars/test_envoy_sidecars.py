from __future__ import annotations

from pathlib import Path

import pytest

from mesh.description.ports import load_ports
from mesh.description.streams import LASTING
from mesh.description.switches import parse_switches
from mesh.description.topology import load_topology, names
from mesh.paths import RunFolder
from mesh.sidecars.certificates import issue_all, make_authority
from mesh.sidecars.envoy import StaticMesh
from mesh.sidecars.workloads import workloads

PORTS = load_ports({"SHOP_PORT_BASE": "30000"})


def static(topology: str, folder: RunFolder, **given: str) -> StaticMesh:
    switches = parse_switches(mesh="envoy", **given)
    all_workloads = workloads(load_topology(topology), PORTS, folder, canary=switches.canary > 0)
    encrypted = switches.encrypted
    certificates = issue_all(make_authority(folder.keys / "ca"), all_workloads, folder) if encrypted else {}
    return StaticMesh(all_workloads, PORTS, switches, certificates)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.of(30000, tmp_path)


@pytest.mark.parametrize("updates", ["off", "on"])
def test_a_sidecar_limits_every_answer_but_those_that_last(updates: str, folder: RunFolder) -> None:
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
    calls = [("edge", "rest-gateway"), ("rest-gateway", "notification"), ("order", "notification")]
    lasting = {(caller, f"outbound|{callee}", path) for caller, callee in calls for path in LASTING[callee]}
    assert unlimited == (lasting if updates == "on" else set())


@pytest.mark.integration
@pytest.mark.parametrize("topology", names())
def test_envoy_accepts_the_configuration_of_every_sidecar(topology: str, folder: RunFolder) -> None:
    import subprocess

    for given in ({}, {"mtls": "on", "canary": "10", "delay": "order:2ms", "abort": "payment:1%"}):
        for component in static(topology, folder, **given).components(folder):
            argv = [*component.argv(), "--mode", "validate"]
            done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
            assert done.returncode == 0, f"{component.name}: {done.stderr}"
