"""The production overlay in a real cluster: clients are answered through the Gateway, and strangers are refused."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
import yaml
from stand_ins.cluster import needs_cluster

from dataset.seed import prepare
from dataset.trial import create_trial
from experiment.generator.shopload import BINARY, Shopload
from experiment.generator.tapes import parity_tape
from experiment.parity.answers import check_answers
from mesh.components.jaeger import JAEGER
from mesh.components.keys import KeyPair
from mesh.components.postgres import Database
from mesh.components.shop_processes import TRIAL_DATABASE, role_passwords
from mesh.description.topology import EDGE, SERVICES
from mesh.edge.limits import MARK
from mesh.kubernetes.cluster.causes import name_of
from mesh.kubernetes.cluster.kubectl import Kubectl
from mesh.kubernetes.cluster.rollout import Rollout
from mesh.kubernetes.cluster.system import ClusterSystem
from mesh.kubernetes.manifests.bundle import BASE, KUSTOMIZATION, PRODUCTION, manifests
from mesh.kubernetes.manifests.deployment import SCALED
from mesh.kubernetes.manifests.files import write
from mesh.kubernetes.manifests.ingress import GATEWAY_POD, PORT
from mesh.kubernetes.manifests.secrets import secrets
from mesh.kubernetes.manifests.stores import jaeger_service_ports
from mesh.kubernetes.options import cluster_options
from mesh.supervisor.processes import Component
from shop.stubs import order_pb2, order_pb2_grpc, product_pb2, product_pb2_grpc

pytestmark = needs_cluster

READY_S = 300.0
TIMEOUT = f"--timeout={READY_S:g}s"
SMALL = """\
- op: replace
  path: /spec/template/spec/containers/0/resources/requests/cpu
  value: 20m
"""
"""Patch on top of the production overlay, which requests more CPU for its pods than a small node has."""
SMALLER = "manifests/overlays/smaller"
CALL = """
import grpc, http.client
def ask_grpc(peer):
    channel = grpc.insecure_channel(peer)
    call = channel.unary_unary("/grpc.health.v1.Health/Check", request_serializer=bytes, response_deserializer=bytes)
    try:
        call(b"", timeout=5)
    except grpc.RpcError as error:
        return error.code().name
    return "ANSWERED"
def ask_http(peer):
    connection = http.client.HTTPConnection(peer, timeout=5)
    try:
        connection.request("GET", "/")
        return "HTTP-" + str(connection.getresponse().status)
    except (OSError, http.client.HTTPException):
        return "UNAVAILABLE"
for peer in {peers}:
    spoken, _, address = peer.partition("://")
    print(peer, (ask_grpc if spoken == "grpc" else ask_http)(address))
"""
REFUSED = {"PERMISSION_DENIED", "HTTP-403", "UNAVAILABLE", "DEADLINE_EXCEEDED"}
"""How calls end if a sidecar that checks the caller refuses them, or if the network drops their packets."""


class Production(ClusterSystem):
    """The production overlay, applied as users apply it; with a mesh, clients enter through the Gateway."""

    def _roll_out(self, kubectl: Kubectl, keys: KeyPair, database: Database) -> None:
        folder = self.folder.path / "manifests"
        files = manifests(self.topology, self.switches, self.options)
        write(files, folder)
        patch = {"target": {"kind": "Deployment", "labelSelector": SCALED}, "patch": SMALL}
        smaller = self.folder.path / SMALLER
        smaller.mkdir()
        overlay = {"resources": [f"../{PRODUCTION.rpartition('/')[2]}"], "patches": [patch]}
        (smaller / KUSTOMIZATION).write_text(yaml.safe_dump(overlay))
        kubectl.apply([*files[f"{BASE}/namespace.yaml"], *secrets(keys, database, self.options)])
        kubectl.run("apply", f"--kustomize={smaller}", limit_s=60)
        rollout = Rollout(kubectl, lambda: None)
        (job,) = files[f"{PRODUCTION}/database.yaml"]
        rollout.until_done(name_of(job), READY_S)
        rollout.until_ready([*self.topology.components, EDGE], READY_S)
        if self.switches.meshed:
            kubectl.run("rollout", "status", f"deployment/{GATEWAY_POD}", TIMEOUT, limit_s=READY_S + 10)

    def _forward(self, service: str, name: str) -> Component:
        entered = super()._forward(service, name)
        if service != EDGE or not self.switches.meshed:
            return entered
        port = f"{self.ports[EDGE]}:{PORT}"
        command = self.kubectl.command("port-forward", "--address=127.0.0.1", f"service/{GATEWAY_POD}", port)
        return replace(entered, argv=lambda: command)


@pytest.fixture
def make_production(make: Callable[..., ClusterSystem], database_elsewhere: str) -> Callable[..., ClusterSystem]:
    """Makes the overlay of a topology; its database exists and has rows, which migrations keep."""
    database = Database(database_elsewhere, embedded=False)
    template = prepare(database_elsewhere, role_passwords(database), seed=1, scale=1)
    create_trial(database_elsewhere, template=template, name=TRIAL_DATABASE)
    url = f"{database_elsewhere.rpartition('/')[0]}/{TRIAL_DATABASE}"
    return lambda **switches: make(Production, database_url=url, **switches)


@pytest.fixture
def strangers(elsewhere: Kubectl) -> Callable[[list[str]], dict[str, dict[str, str]]]:
    """Lets three pods in another namespace call addresses; returns for each pod and address how the call ended.

    The first pod has a sidecar with a certificate from the cluster. The second has no sidecar and no certificate. The
    third uses the node's network, like a process of the node.
    """
    main = {"name": "shop", "image": cluster_options(os.environ).image("shop"), "command": ["sleep", "infinity"]}
    injected = {"certified": "true", "uncertified": "false", "node": "false"}
    on_node = {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": {"sidecar.istio.io/inject": wanted}},
            "spec": {"containers": [main], "terminationGracePeriodSeconds": 1, **(on_node if name == "node" else {})},
        }
        for name, wanted in injected.items()
    ]

    def call(places: list[str]) -> dict[str, dict[str, str]]:
        elsewhere.apply(pods)
        elsewhere.run("wait", "pods", *injected, "--for=condition=Ready", TIMEOUT, limit_s=READY_S + 10)
        script = CALL.format(peers=places)
        output = {name: elsewhere.execute(name, "shop", "python", "-c", script, limit_s=90) for name in injected}
        return {name: dict(line.split() for line in lines.splitlines()) for name, lines in output.items()}

    return call


@pytest.mark.parametrize(("topology", "mesh"), [("hybrid", "istio"), ("grpc", "istio"), ("hybrid", "none")])
def test_clients_get_every_answer_right(
    make_production: Callable[..., ClusterSystem], topology: str, mesh: str, tmp_path: Path
) -> None:
    shopload = Shopload(BINARY)
    tape = parity_tape(shopload, tmp_path / "tape.jsonl", 2, seed=1, scale=1)
    with make_production(topology=topology, mesh=mesh, mtls="on" if mesh == "istio" else "off") as system:
        rows = check_answers(system, shopload, tape, tmp_path / "answers.jsonl")
        changes = system.kubectl.ask("diff", f"--kustomize={system.folder.path / SMALLER}", limit_s=60)
    assert {"browse", "login", "checkout"} <= {row["journey"] for row in rows}
    # Another apply would change nothing.
    assert (changes.stdout, changes.returncode) == ("", 0)


def test_a_new_version_runs_its_migrations_and_an_evicted_pod_is_replaced(
    make_production: Callable[..., ClusterSystem], tmp_path: Path
) -> None:
    shopload = Shopload(BINARY)
    tape = parity_tape(shopload, tmp_path / "tape.jsonl", 2, seed=1, scale=1)
    with make_production(topology="hybrid", mesh="none") as system:
        kubectl, rollout = system.kubectl, Rollout(system.kubectl, lambda: None)
        files = manifests(system.topology, system.switches, replace(system.options, pull_policy="Never"))
        (job,) = files[f"{PRODUCTION}/database.yaml"]
        kubectl.apply([job])
        rollout.until_done(name_of(job), READY_S)
        assert len(kubectl.get("jobs")["items"]) == 2
        evicted = next(name_of(pod) for pod in kubectl.get("pods", "--selector=app=order")["items"])
        kubectl.evict(evicted)
        rows = check_answers(system, shopload, tape, tmp_path / "answers.jsonl")
        rollout.until_ready(["order"], READY_S)
    assert {"browse", "login", "checkout"} <= {row["journey"] for row in rows}


def test_strangers_are_refused_and_clients_claims_about_themselves_are_ignored(
    make_production: Callable[..., ClusterSystem], strangers: Callable[[list[str]], dict[str, dict[str, str]]]
) -> None:
    with make_production(topology="grpc", mesh="istio", mtls="on") as system:
        ports = system.places.ports
        edge = f"grpc://{EDGE}.{system.namespace}:{ports[EDGE]}"
        guarded = {f"grpc://{name}.{system.namespace}:{ports[f'{name}-grpc']}" for name in SERVICES}
        for port, spoken in jaeger_service_ports(ports).items():
            guarded.add(f"{spoken}://{JAEGER}.{system.namespace}:{port}")
        for name, ended in strangers([edge, *sorted(guarded)]).items():
            # Everybody may reach the edge, and it has no route to this method.
            assert ended.pop(edge) == "UNIMPLEMENTED", name
            assert ended.keys() == guarded
            assert set(ended.values()) <= REFUSED, (name, ended)
        certificate = f"By=spiffe://a/b;URI=spiffe://cluster.local/ns/{system.namespace}/sa/order"
        forged = [("x-forwarded-client-cert", certificate), (MARK, "")]
        with grpc.insecure_channel(system.ports.address(EDGE)) as channel:
            products, orders = product_pb2_grpc.ProductServiceStub(channel), order_pb2_grpc.OrderServiceStub(channel)
            assert products.GetProduct(product_pb2.GetProductRequest(id=1), metadata=forged).id == 1
            release = product_pb2.ReleaseReservationRequest(reservation_id=str(uuid.uuid4()))
            with pytest.raises(grpc.RpcError) as internal:
                products.ReleaseReservation(release, metadata=forged)
            with pytest.raises(grpc.RpcError) as anonymous:
                orders.GetOrder(order_pb2.GetOrderRequest(id=1), metadata=forged)
    assert internal.value.details() == "only the shop's own services may do this"
    assert anonymous.value.code() is grpc.StatusCode.UNAUTHENTICATED
