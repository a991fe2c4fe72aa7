"""A real cluster: which calls are allowed, which pods get them, and an update that loses no journey."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import httpx
import pytest
from stand_ins.cluster import namespaces, needs_cluster

from experiment.generator.shopload import BINARY, Load, Shopload, Tape
from experiment.trial.audit import auditing
from experiment.trial.cluster_sender import ClusterSender
from experiment.trial.outcome import JOURNEYS
from hops.run.rows import read_rows
from mesh.components.postgres import POSTGRES
from mesh.components.shop_processes import TRIAL_DATABASE
from mesh.errors import ComponentDiedError
from mesh.kubernetes.cluster.kubectl import Kubectl, failure_message
from mesh.kubernetes.cluster.system import ClusterSystem
from mesh.paths import ROOT

pytestmark = needs_cluster

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
SERVER = 2
"""The `kind` of SERVER spans in OTLP JSON."""
UPDATED = ("product", "order", "user", "payment", "graphql-gateway", "rest-gateway", "edge")


class UpdatableSystem(ClusterSystem):
    """A system whose pods may be replaced under load."""

    def find_dead(self) -> list[ComponentDiedError]:
        return []


@pytest.fixture
def meshed(make: Callable[..., ClusterSystem]) -> Iterator[ClusterSystem]:
    with make(mesh="istio", mtls="on") as system:
        yield system


def pod_of(kubectl: Kubectl, component: str) -> str:
    (pod,) = kubectl.get("pods", f"--selector=app.kubernetes.io/name={component}")["items"]
    return str(pod["metadata"]["name"])


def tape_of(shopload: Shopload, folder: Path, duration_s: float) -> Tape:
    workload = ROOT / "load" / "workloads" / "default.yaml"
    return shopload.tape(workload, folder / "tape.jsonl", seed=3, rate=5, duration_s=duration_s, scale=1)


def calls_by_instance(system: ClusterSystem, traces: Iterable[str], component: str) -> Mapping[str, int]:
    """Counts the calls that each pod of a component served in these traces."""
    served: Counter[str] = Counter()
    with httpx.Client(base_url=system.ports.url("jaeger-query-http"), trust_env=False) as jaeger:
        for trace in traces:
            for spans in jaeger.get(f"/api/v3/traces/{trace}").json()["result"]["resourceSpans"]:
                resource = {each["key"]: each["value"].get("stringValue") for each in spans["resource"]["attributes"]}
                if resource["service.name"] == component:
                    kinds = [span["kind"] for scope in spans["scopeSpans"] for span in scope["spans"]]
                    served[resource["service.instance.id"]] += kinds.count(SERVER)
    return served


def test_a_strict_mesh_allows_only_the_topology_s_links(meshed: ClusterSystem) -> None:
    kubectl = meshed.kubectl
    payment = meshed.places.ports["payment-grpc"]

    def call(caller: str) -> str:
        script = CALL.format(peer=f"payment:{payment}")
        return kubectl.execute(pod_of(kubectl, caller), caller, "python", "-c", script)

    assert "ANSWERED" in call("order")
    assert "PERMISSION_DENIED" in call("user")
    # A pod without a sidecar does not speak TLS.
    plain = kubectl.ask(
        "exec", "postgres-0", "--container=postgres", "--", "bash", "-c", PLAIN.format(host="payment", port=payment)
    )
    assert plain.stdout == "", failure_message(plain)


@pytest.mark.parametrize("mesh", ["none", "istio"])
def test_an_update_of_everything_under_load_loses_no_journey(
    make: Callable[..., ClusterSystem], mesh: str, tmp_path: Path
) -> None:
    shopload, out = Shopload(BINARY), tmp_path / "out"
    out.mkdir()
    tape = tape_of(shopload, tmp_path, 150)
    with make(UpdatableSystem, mesh=mesh, mtls="on" if mesh == "istio" else "off") as system:
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
    journeys = read_rows(out / JOURNEYS)
    failed = journeys.filter(journeys["outcome"] != "ok").select("journey", "outcome", "error").to_dicts()
    assert failed == []
    assert journeys.height == tape.journeys


@pytest.mark.parametrize("topology", ["hybrid", "graphql"])
def test_without_a_mesh_both_pods_of_a_service_get_half_of_the_calls(
    make: Callable[..., ClusterSystem], topology: str, tmp_path: Path
) -> None:
    # Product's callers speak gRPC in hybrid, and GraphQL over HTTP in graphql.
    shopload, out = Shopload(BINARY), tmp_path / "out"
    out.mkdir()
    with make(topology=topology, replicas={"product": 2}, trace=1.0) as system:
        ClusterSender(system, shopload).replay(Load(tape_of(shopload, tmp_path, 20), 20.0), out)
        journeys = read_rows(out / JOURNEYS)
        served = calls_by_instance(system, journeys["trace_id"], "product")
    assert set(journeys["outcome"]) == {"ok"}
    assert len(served) == 2
    assert min(served.values()) / sum(served.values()) == pytest.approx(0.5, abs=0.1), served


def test_a_database_outside_of_the_namespace_is_filled_used_and_audited(
    make: Callable[..., ClusterSystem], database_elsewhere: str, tmp_path: Path
) -> None:
    shopload, out = Shopload(BINARY), tmp_path / "out"
    out.mkdir()
    with make(database_url=database_elsewhere) as system:
        ClusterSender(system, shopload).replay(Load(tape_of(shopload, tmp_path, 10), 10.0), out)
        with auditing(database_elsewhere, TRIAL_DATABASE, out / JOURNEYS) as findings:
            printed = findings()
        kinds = system.kubectl.run("get", "pods,statefulsets,services", "--output=name")
    assert set(read_rows(out / JOURNEYS)["outcome"]) == {"ok"}
    assert [each for each in json.loads(printed)["invariants"] if not each["ok"]] == []
    assert POSTGRES not in kinds


def test_nothing_of_a_run_is_left_in_the_cluster(make: Callable[..., ClusterSystem]) -> None:
    with make() as system:
        assert system.namespace in namespaces()
    assert system.namespace not in namespaces()
