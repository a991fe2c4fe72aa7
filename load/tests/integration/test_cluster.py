"""What holds in a real cluster: who may call whom, and that an update of everything loses no journey."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from stand_ins.cluster import namespaces, needs_cluster

from experiment.generator.shopload import BINARY, Load, Shopload
from experiment.trial.cluster_sender import ClusterSender
from experiment.trial.sender import JOURNEYS
from hops.run.rows import read_journeys
from mesh.errors import ComponentDiedError
from mesh.kubernetes.cluster import ClusterSystem
from mesh.kubernetes.kubectl import Kubectl, said
from mesh.paths import ROOT, RunFolder
from mesh.ports import Ports
from mesh.switches import Switches
from mesh.topology import load_topology

pytestmark = [pytest.mark.integration, needs_cluster]

CALL = """
import grpc
channel = grpc.insecure_channel("{peer}")
call = channel.unary_unary("/grpc.health.v1.Health/Check", request_serializer=bytes, response_deserializer=bytes)
try:
    call(b"", timeout=5)
    print("ANSWERED")
except grpc.RpcError as error:
    print(error.code().name, error.details())
"""
PLAIN = "exec 3<>/dev/tcp/{host}/{port}; printf 'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n' >&3; timeout 5 head -c 9 <&3"
UPDATED = ("product", "order", "user", "payment", "graphql-gateway", "rest-gateway", "edge")


class Updating(ClusterSystem):
    """A system whose pods may be replaced while a load is sent."""

    def ended(self) -> list[ComponentDiedError]:
        return []


@pytest.fixture
def make(tmp_path: Path, free_ports: Callable[[], Ports]) -> Callable[..., ClusterSystem]:
    def made(kind: type[ClusterSystem] = ClusterSystem, **switches: str | int | float) -> ClusterSystem:
        folder = RunFolder.of(1, root=tmp_path)
        chosen = Switches(runtime="kubernetes", **switches)  # type: ignore[arg-type]
        return kind(load_topology("hybrid"), chosen, free_ports(), "test", environ=os.environ, folder=folder)

    return made


@pytest.fixture
def meshed(make: Callable[..., ClusterSystem]) -> Iterator[ClusterSystem]:
    with make(mesh="istio", mtls="on") as system:
        yield system


def pod_of(kubectl: Kubectl, component: str) -> str:
    (pod,) = kubectl.get("pods", f"--selector=app.kubernetes.io/name={component}")["items"]
    return str(pod["metadata"]["name"])


def test_a_strict_mesh_lets_through_what_the_topology_links_and_nothing_else(meshed: ClusterSystem) -> None:
    kubectl = meshed.kubectl
    payment = meshed.places.ports["payment-grpc"]

    def call(caller: str) -> str:
        script = CALL.format(peer=f"payment:{payment}")
        return kubectl.execute(pod_of(kubectl, caller), caller, "python", "-c", script)

    assert "ANSWERED" in call("order")
    assert "PERMISSION_DENIED" in call("user")
    # A pod without a sidecar speaks no TLS.
    plain = kubectl.ask(
        "exec", "postgres-0", "--container=postgres", "--", "bash", "-c", PLAIN.format(host="payment", port=payment)
    )
    assert plain.stdout == "", said(plain)


@pytest.mark.parametrize("mesh", ["none", "istio"])
def test_an_update_of_everything_under_load_loses_no_journey(
    make: Callable[..., ClusterSystem], mesh: str, tmp_path: Path
) -> None:
    shopload, out = Shopload(BINARY), tmp_path / "out"
    out.mkdir()
    workload = ROOT / "load" / "workloads" / "default.yaml"
    tape = shopload.tape(workload, tmp_path / "tape.jsonl", seed=3, rate=5, duration_s=150, scale=1)
    with make(Updating, mesh=mesh, mtls="on" if mesh == "istio" else "off") as system:
        failures: list[BaseException] = []

        def update() -> None:
            try:
                for component in UPDATED:
                    system.kubectl.run("rollout", "restart", f"deployment/{component}")
                    limit = "--timeout=120s"
                    system.kubectl.run("rollout", "status", f"deployment/{component}", limit, limit_s=130)
            except BaseException as error:
                failures.append(error)

        updates = threading.Thread(target=update)
        updates.start()
        ClusterSender(system, shopload).replay(Load(tape, 150.0), out)
        updates.join(timeout=300)
        assert failures == []
        assert not updates.is_alive()
    journeys = read_journeys(out / JOURNEYS)
    failed = journeys.filter(journeys["outcome"] != "ok").select("journey", "outcome", "error").to_dicts()
    assert failed == []
    assert journeys.height == tape.journeys


def test_nothing_of_a_run_is_left_in_the_cluster(make: Callable[..., ClusterSystem]) -> None:
    with make() as system:
        assert system.namespace in namespaces()
    assert system.namespace not in namespaces()
