from __future__ import annotations

from pathlib import Path

from mesh.description.ports import load_ports
from mesh.description.switches import parse_switches
from mesh.description.topology import load_topology
from mesh.kubernetes.cluster.system import ClusterSystem
from mesh.paths import RunFolder


def test_replicas_are_pods_of_one_service(tmp_path: Path) -> None:
    switches = parse_switches(runtime="kubernetes", mesh="istio", replicas="product:2,rest-gateway:3")
    folder = RunFolder.of(30000, tmp_path)
    system = ClusterSystem(load_topology("hybrid"), switches, load_ports({}), "t1", environ={}, folder=folder)
    assert system.options.replicas == {"product": 2, "rest-gateway": 3}
    assert [str(place) for place in system.places.endpoints("product-grpc")] == ["product:18020"]
