"""Real sidecars in front of stand-ins: access control, retries, traffic splitting and fault injection."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import ssl
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import grpc
import httpx
import pytest
from stand_ins import MeshRun, needs_istio, until

from mesh.description.ports import Ports
from mesh.description.switches import parse_switches
from mesh.description.topology import Protocol, load_topology
from mesh.envoy_replies import UNSENT
from mesh.paths import RunFolder
from mesh.sidecars.certificates import Authority, Certificate, issue, make_authority
from mesh.sidecars.stats import admin_page, read_facts
from mesh.sidecars.workloads import Inbound, Workload, identity

CALLS = 400

Start = Callable[..., MeshRun]
DEADLINE = "x-envoy-expected-rq-timeout-ms"


@pytest.fixture(scope="module", params=["envoy", pytest.param("istio", marks=needs_istio)])
def mesh(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@pytest.fixture(scope="module")
def prepare(
    mesh: str, free_ports: Callable[[], Ports], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., MeshRun]:
    def make(topology: str = "rest-bff", **given: str) -> MeshRun:
        ports = free_ports()
        folder = RunFolder.of(ports.base, root=tmp_path_factory.mktemp("mesh"))
        return MeshRun(load_topology(topology), parse_switches(mesh=mesh, **given), ports, folder)

    return make


@pytest.fixture
def start(prepare: Callable[..., MeshRun]) -> Iterator[Start]:
    with contextlib.ExitStack() as stack:
        yield lambda *topology, **given: stack.enter_context(prepare(*topology, **given))


@pytest.fixture(scope="module")
def plain(prepare: Callable[..., MeshRun]) -> Iterator[MeshRun]:
    with prepare() as run:
        yield run


@pytest.fixture(scope="module")
def encrypted(prepare: Callable[..., MeshRun]) -> Iterator[MeshRun]:
    with prepare(mtls="on") as run:
        yield run


@pytest.fixture(scope="module", params=["hybrid", "rest"])
def of_topology(request: pytest.FixtureRequest, prepare: Callable[..., MeshRun]) -> Iterator[MeshRun]:
    with prepare(request.param, mtls="on") as run:
        yield run


def test_a_call_passes_both_sidecars(encrypted: MeshRun) -> None:
    with encrypted.caller("rest-gateway", "product") as client:
        answer = client.get(
            "/v1/products/1?secret=1", headers={"x-forwarded-client-cert": "URI=spiffe://forged"}
        ).json()
    assert (answer["served_by"], answer["path"]) == ("product", "/v1/products/1?secret=1")
    headers = {name.lower(): value for name, value in answer["headers"].items()}
    assert headers["host"] == f"product.mesh.local:{encrypted.ports['product-rest']}"
    assert headers["x-forwarded-client-cert"].endswith(f"URI={identity('rest-gateway')}")
    assert "forged" not in headers["x-forwarded-client-cert"]


def test_without_mtls_callers_have_no_identity(plain: MeshRun) -> None:
    with plain.caller("rest-gateway", "product") as client:
        forged = client.get("/", headers={"x-forwarded-client-cert": "URI=spiffe://forged"}).json()
    assert "x-forwarded-client-cert" not in {name.lower() for name in forged["headers"]}
    facts = read_facts(plain.workloads, encrypted=False)
    assert (facts.refused, facts.unencrypted, facts.silent) == (0, None, 0)


def test_facts_of_an_encrypted_mesh(encrypted: MeshRun, tmp_path: Path) -> None:
    links = [(workload.name, outbound.callee) for workload in encrypted.workloads for outbound in workload.outbound]
    for caller, callee in links:
        with encrypted.caller(caller, callee) as client:
            assert client.get("/").status_code == 200
    facts = read_facts(encrypted.workloads, encrypted=True)
    assert (facts.refused, facts.unencrypted, facts.silent) == (0, 0, 0)
    away = [replace(workload, admin=tmp_path / "none") for workload in encrypted.workloads]
    assert read_facts(away, encrypted=True).silent == len(away)


def test_a_sidecar_that_met_no_tls_shows(start: Start) -> None:
    run = start(mtls="on")
    with run.caller("order", "payment") as client:
        client.get("/")
    serving = [workload for workload in run.workloads if workload.inbound]
    assert read_facts(run.workloads, encrypted=True).unencrypted == len(serving) - 1


def test_callers_without_a_link_are_refused(of_topology: MeshRun, tmp_path: Path) -> None:
    run = of_topology
    assert run.authority is not None
    foreign = issue(make_authority(tmp_path / "foreign"), [identity("edge")], tmp_path / "foreign-edge")
    # No component has this identity, although the mesh's authority has certified it.
    stranger = issue(run.authority, [identity("stranger")], tmp_path / "stranger")
    for workload in run.workloads:
        for inbound in workload.inbound:
            where = f"{workload.name}, {inbound.protocol}"
            assert _direct_dial_fails(inbound), where
            assert _status(run.authority, workload, inbound, None) is None, where
            assert _status(run.authority, workload, inbound, foreign) is None, where
            assert _status(run.authority, workload, inbound, stranger) in (403, "grpc 7"), where


def test_links_are_permissions(of_topology: MeshRun, tmp_path: Path) -> None:
    run = of_topology
    assert run.authority is not None
    links = {
        (workload.service, outbound.callee, outbound.protocol)
        for workload in run.workloads
        for outbound in workload.outbound
    }
    for caller in {workload.service for workload in run.workloads}:
        certificate = issue(run.authority, [identity(caller)], tmp_path / caller)
        for workload in run.workloads:
            for inbound in workload.inbound:
                may = (caller, workload.service, inbound.protocol) in links
                status = _status(run.authority, workload, inbound, certificate)
                assert (status not in (403, "grpc 7")) == may, (caller, workload.name, inbound.protocol, status)
                assert status is not None


def test_a_failed_read_is_repeated_once_and_a_write_never(plain: MeshRun) -> None:
    product = plain.stand_ins["product"]
    before = product.requests
    with plain.caller("rest-gateway", "product") as client:
        assert client.get("/", headers={"x-fail-first": "read"}).status_code == 200
        assert product.requests == before + 2
        assert client.get("/", headers={"x-fail": "503"}).status_code == 503
        assert product.requests == before + 4
        assert client.post("/", headers={"x-fail": "503"}).status_code == 503
        assert product.requests == before + 5


def test_a_write_that_no_process_has_seen_goes_to_another_replica(start: Start) -> None:
    run = start(replicas="payment:2")
    with run.caller("order", "payment") as client:
        run.stand_ins["payment-2"].stop()
        answers = [client.post("/") for _ in range(40)]
        assert {(answer.status_code, answer.json()["served_by"]) for answer in answers} == {(200, "payment")}
        assert run.stand_ins["payment"].requests == 40
        # A process that answers has seen the request, even if its answer says that it is unavailable.
        assert client.post("/", headers={"x-fail": "503"}).status_code == 503
        assert run.stand_ins["payment"].requests == 41
        run.stand_ins["payment"].stop()
        away = client.post("/v1/payments?card=1")
        assert (away.status_code, away.headers["content-type"]) == (503, "application/problem+json")
        problem = {name: away.json()[name] for name in ("status", "code", "instance")}
        assert problem == {"status": 503, "code": "UNAVAILABLE", "instance": "/v1/payments"}
        (error,) = client.post("/graphql").json()["errors"]
        assert error["extensions"]["code"] == "UNAVAILABLE"
        assert UNSENT not in away.headers


def test_an_instance_that_keeps_failing_is_left_alone_for_a_while(start: Start) -> None:
    run = start(replicas="payment:2")
    replicas = [run.stand_ins[name] for name in ("payment", "payment-2")]
    with run.caller("order", "payment") as client:
        limit, alone = time.monotonic() + 10, False
        # Envoy's workers learn of the ejection after a moment; the instance gets calls again when its ejection is over.
        while not alone:
            assert time.monotonic() < limit
            before = [replica.requests for replica in replicas]
            assert {client.post("/", headers={"x-fail": "503"}).status_code for _ in range(10)} == {503}
            alone = any(replica.requests == was for replica, was in zip(replicas, before, strict=True))
        while any(replica.requests == was for replica, was in zip(replicas, before, strict=True)):
            assert time.monotonic() < limit + 10
            assert client.post("/").status_code == 200
            time.sleep(0.1)


def test_with_admission_an_instance_that_refuses_clients_requests_still_gets_calls(start: Start) -> None:
    run = start(replicas="rest-gateway:2", admission="on")
    with run.caller("edge", "rest-gateway") as client:
        for _ in range(40):
            assert client.post("/", headers={"x-fail": "503"}).status_code == 503
            # Envoy's workers learn of an ejection after a moment.
            time.sleep(0.05)
        first, second = (run.stand_ins[name].requests for name in ("rest-gateway", "rest-gateway-2"))
        assert abs(first - second) <= 2
        # An instance that cannot be reached is ejected all the same.
        run.kill("rest-gateway-2-sidecar")
        assert {client.get("/").status_code for _ in range(20)} == {200}
        ejected = admin_page(run.workload("edge").admin, "/stats?filter=outlier_detection.ejections_active", 5)
        assert re.search(r"rest-gateway.*ejections_active: 1$", ejected or "", re.MULTILINE)


def test_an_only_instance_is_never_ejected(plain: MeshRun) -> None:
    payment = plain.stand_ins["payment"]
    before = payment.requests
    with plain.caller("order", "payment") as client:
        for _ in range(12):
            assert client.post("/", headers={"x-fail": "503"}).status_code == 503
            time.sleep(0.05)
        assert payment.requests == before + 12
        assert client.post("/").status_code == 200


def test_the_caller_s_remaining_time_is_the_limit_and_is_forwarded(encrypted: MeshRun) -> None:
    with encrypted.caller("rest-gateway", "order") as client:
        answer = client.get("/", headers={DEADLINE: "1234"}).json()
        assert {name.lower(): value for name, value in answer["headers"].items()}[DEADLINE] == "1234"
        assert client.post("/", headers={DEADLINE: "200", "x-sleep": "3"}).status_code == 504


def test_a_grpc_caller_s_remaining_time_is_forwarded(start: Start) -> None:
    run = start("hybrid")
    outbound = run.outbound("rest-gateway", "product")
    with (
        grpc_stand_in(run.workload("product").inbound_of(Protocol.GRPC).socket),
        grpc.insecure_channel(f"unix:{outbound.socket}", [("grpc.default_authority", outbound.authority)]) as channel,
    ):
        call = channel.unary_unary("/shop.product.v1.ProductService/GetProduct")
        seen = json.loads(call(b"", timeout=2, metadata=[(DEADLINE, "4000")], wait_for_ready=True))
        # gRPC rounds the remaining time up slightly when it sends it; the header's 4 s would be far more.
        assert seen["remaining_s"] < 3, "its deadline was put off"
        assert seen["metadata"][DEADLINE] == "4000"
        seen = json.loads(call(b"", timeout=10, metadata=[(DEADLINE, "4000")]))
        assert seen["metadata"][DEADLINE] == "4000"
        with pytest.raises(grpc.RpcError) as error:
            call(b"sleep", timeout=10, metadata=[(DEADLINE, "200")])
        assert error.value.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


def test_replicas_and_the_canary_get_their_parts_of_the_calls_and_no_read_fails_when_one_dies(start: Start) -> None:
    run = start(mtls="on", canary="20", replicas="product:2")
    with run.caller("rest-gateway", "product") as client:
        served = Counter(client.get("/").json()["served_by"] for _ in range(CALLS))
        assert set(served) == {"product", "product-2", "product-canary"}
        assert abs(served["product"] - served["product-2"]) <= 2
        # The tolerance is four standard deviations.
        assert 0.12 <= served["product-canary"] / CALLS <= 0.28
        run.kill("product-2-sidecar")
        answers = [client.get("/") for _ in range(200)]
        assert {answer.status_code for answer in answers} == {200}
        assert {answer.json()["served_by"] for answer in answers} == {"product", "product-canary"}
        run.restart("product-2-sidecar")
        until(lambda: client.get("/").json()["served_by"] == "product-2")


def test_faults_spoil_only_the_calls_to_their_component(start: Start) -> None:
    run = start(delay="user:150ms", abort="payment:100%")
    with run.caller("order", "payment") as client:
        assert client.post("/").status_code == 503
    assert run.stand_ins["payment"].requests == 0
    with run.caller("order", "user") as client:
        began = time.monotonic()
        assert client.get("/").status_code == 200
        assert time.monotonic() - began >= 0.15
    with run.caller("order", "product") as client:
        assert client.get("/").status_code == 200


@contextlib.contextmanager
def grpc_stand_in(at: Path) -> Iterator[None]:
    """A gRPC server instead of the stand-in at a socket; it answers every call with the call's metadata."""

    def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
        if request == b"sleep":
            time.sleep(2)
        return json.dumps(
            {"remaining_s": context.time_remaining(), "metadata": dict(context.invocation_metadata())}
        ).encode()

    class Everything(grpc.GenericRpcHandler):
        def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
            return grpc.unary_unary_rpc_method_handler(answer)

    at.unlink()
    server = grpc.server(ThreadPoolExecutor(4), handlers=[Everything()])
    server.add_insecure_port(f"unix:{at}")
    server.start()
    try:
        yield
    finally:
        server.stop(grace=0).wait()


def _direct_dial_fails(inbound: Inbound) -> bool:
    """Whether nothing listens at the component's own port, which it uses without a mesh."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as dialled:
        return dialled.connect_ex(("127.0.0.1", inbound.port)) != 0


def _status(by: Authority, workload: Workload, inbound: Inbound, own: Certificate | None) -> int | str | None:
    """Returns a sidecar's answer to a caller with or without a certificate: an HTTP status, a gRPC status, or None."""
    context = ssl.create_default_context(cafile=str(by.root_cert))
    context.check_hostname = False
    if own is not None:
        context.load_cert_chain(own.chain, own.key)
    over_grpc = inbound.protocol is Protocol.GRPC
    headers = {"content-type": "application/grpc", "te": "trailers"} if over_grpc else {}
    with httpx.Client(verify=context, http2=over_grpc, http1=not over_grpc, timeout=5) as client:
        try:
            answer = client.post(f"https://{workload.address}:{inbound.port}/", headers=headers)
        except httpx.TransportError:
            return None
    status = answer.headers.get("grpc-status")
    return answer.status_code if status is None else f"grpc {status}"
