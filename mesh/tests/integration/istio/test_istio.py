"""Features that only Istio has: under load, it issues certificates and configuration, and it authenticates the sidecars
that request these."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

import grpc
import httpx
import psutil
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from stand_ins import MeshRun, needs_istio, until

from mesh.description.ports import Ports
from mesh.description.switches import Switches, parse_switches
from mesh.description.topology import load_topology
from mesh.errors import ComponentDiedError, StartError, TopologyError
from mesh.istio.agents import token_file
from mesh.istio.resource import ENVOY, Resource, write_resources
from mesh.istio.tokens import TokenIssuer
from mesh.istio.validation import require_consistent, require_valid
from mesh.paths import RunFolder
from mesh.sidecars.certificates import issue
from mesh.sidecars.stats import read_facts
from mesh.sidecars.workloads import identity
from mesh.supervisor.processes import Component

pytestmark = needs_istio

Prepare = Callable[..., MeshRun]
LIMIT_S = 60.0


@pytest.fixture
def prepare(ports: Ports, folder: RunFolder) -> Prepare:
    def make(kind: type[MeshRun] = MeshRun, **given: str) -> MeshRun:
        switches = parse_switches(mesh="istio", mtls="on", **given)
        return kind(load_topology("rest-bff"), switches, ports, folder)

    return make


class Spoiled(MeshRun):
    def __init__(self, run: MeshRun, spoil: Callable[[MeshRun], None]) -> None:
        super().__init__(run.istio.topology, run.switches, run.ports, run.folder)
        self._spoil = spoil

    def sidecars(self) -> Sequence[Component]:
        made = [replace(component, start_limit_s=10.0) for component in super().sidecars()]
        self._spoil(self)
        return made


class ShortLived(MeshRun):
    """A mesh whose certificates last for seconds."""

    def sidecars(self) -> Sequence[Component]:
        return [replace(component, env={**component.env, "SECRET_TTL": "8s"}) for component in super().sidecars()]


class Load:
    """Calls from one component to another for the duration of the context: how many got 200, and the other results."""

    def __init__(self, run: MeshRun, caller: str, callee: str) -> None:
        self._client = run.caller(caller, callee)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._call, daemon=True)
        self.answered = 0
        self.failures: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join(timeout=LIMIT_S)
        self._client.close()

    def _call(self) -> None:
        while not self._done.is_set():
            # A POST is never retried, so every failure is counted.
            try:
                status = self._client.post("/").status_code
            except httpx.HTTPError as error:
                self.failures.append(repr(error))
                continue
            if status == 200:
                self.answered += 1
            else:
                self.failures.append(f"status {status}")


def test_certificates_rotate_ten_times_and_no_call_fails(prepare: Prepare) -> None:
    with prepare(ShortLived) as run, Load(run, "rest-gateway", "product") as load:
        seen = [serial(run, "product")]
        with run.caller("rest-gateway", "product") as client, ThreadPoolExecutor(12) as calls:
            limit = time.monotonic() + 3 * LIMIT_S
            while len(seen) <= 10 and time.monotonic() < limit:
                # More concurrent calls than before, so that there are new connections, with the newest certificates.
                burst = len(seen) + 1
                pending = [calls.submit(client.post, "/", headers={"x-sleep": "0.2"}) for _ in range(burst)]
                assert {call.result().status_code for call in pending} == {200}
                newest = serial(run, "product")
                if newest != seen[-1]:
                    seen.append(newest)
        assert len(set(seen)) == 11
        assert load.failures == []
        assert load.answered > 0
        assert handshakes(run, "product") > 10


def test_calls_continue_without_istiod_and_it_applies_changes_after_its_return(prepare: Prepare) -> None:
    with prepare(canary="10") as run:
        assert served_by(run) == {"product", "product-canary"}
        with Load(run, "rest-gateway", "product") as load:
            before = load.answered
            run.kill("istiod")
            change(run, replace(run.switches, canary=100))
            until(lambda: load.answered > before + 200)
            assert served_by(run) == {"product", "product-canary"}
            run.restart("istiod")
            until(lambda: served_by(run) == {"product-canary"})
        assert load.failures == []
        assert read_facts(run.workloads, encrypted=False).refused == 0


@pytest.mark.parametrize("then", ["restart", "leave"])
def test_a_run_survives_its_istiod(prepare: Prepare, capfd: pytest.CaptureFixture[str], then: str) -> None:
    with prepare(istiod=then) as run:
        (lost,) = run.pids()["istiod"]
        with Load(run, "rest-gateway", "product") as load:
            os.kill(lost, signal.SIGKILL)
            until(lambda: run.find_dead())
            run.check()
            (now,) = run.pids()["istiod"] or [lost]
            assert (now != lost) == (then == "restart")
            run.check()
            before = load.answered
            until(lambda: load.answered > before + 200)
        assert load.failures == []
        processes = [psutil.Process(pid) for pids in run.pids().values() for pid in pids if psutil.pid_exists(pid)]
        product = run.workload("product").sidecar
        os.kill(run.pids()[product][0], signal.SIGKILL)
        until(lambda: product in {death.component for death in run.find_dead()})
        with pytest.raises(ComponentDiedError, match=f"{product} exited"):
            run.check()
    said = capfd.readouterr().err
    assert said.count("istiod exited during the run, killed by SIGKILL") == 1
    assert {"restart": "istiod was restarted", "leave": "The run continues without istiod"}[then] in said
    # An ended process stays a zombie if its parent does not reap it.
    assert {one.status() for one in processes if one.is_running()} <= {psutil.STATUS_ZOMBIE}


def test_changed_faults_take_effect_while_it_runs(prepare: Prepare) -> None:
    with prepare() as run, run.caller("order", "payment") as client:
        assert client.post("/").status_code == 200
        change(run, replace(run.switches, abort_share={"payment": 1.0}))
        until(lambda: client.post("/").status_code == 503)
        change(run, replace(run.switches, delay_ms={"payment": 400.0}))
        until(lambda: client.post("/").status_code == 200)
        began = time.monotonic()
        assert client.post("/").status_code == 200
        assert time.monotonic() - began >= 0.4
        assert read_facts(run.workloads, encrypted=False).refused == 0


def test_istiod_certifies_only_the_identity_in_the_token(prepare: Prepare, tmp_path: Path) -> None:
    with prepare() as run:
        own = TokenIssuer(run.folder)
        foreign = TokenIssuer(RunFolder.of(1, root=tmp_path))
        certified = ask_for_certificate(run, own.issue("order"))
        assert [identity("order")] == certified
        for refused in (foreign.issue("order"), own.issue("order", lifetime_s=-60), "no token"):
            with pytest.raises(grpc.RpcError) as error:
                ask_for_certificate(run, refused)
            assert error.value.code() is grpc.StatusCode.UNAUTHENTICATED


def test_tokens_are_renewed_before_they_expire(prepare: Prepare) -> None:
    with prepare() as run:
        tokens = {workload.name: token_file(workload, run.folder) for workload in run.workloads}
        before = {name: file.read_text() for name, file in tokens.items()}
        run.istio.renew_tokens()
        assert {name: file.read_text() for name, file in tokens.items()} == before
        two_hours_ago = time.time() - 7200
        os.utime(tokens["order"], (two_hours_ago, two_hours_ago))
        time.sleep(1.1)  # the times in a token are whole seconds
        run.istio.renew_tokens()
        assert [name for name, file in tokens.items() if file.read_text() != before[name]] == ["order"]
        assert tokens["order"].stat().st_mode & 0o077 == 0
        assert ask_for_certificate(run, tokens["order"].read_text()) == [identity("order")]


def test_a_sidecar_with_another_s_token_gets_nothing(prepare: Prepare) -> None:
    def swap(run: MeshRun) -> None:
        token_file(run.workload("order"), run.folder).write_text(TokenIssuer(run.folder).issue("payment"))

    with pytest.raises(StartError, match="order-sidecar was not ready"), Spoiled(prepare(), swap):
        pass


def test_configuration_that_envoy_refuses_fails_the_start(prepare: Prepare) -> None:
    def spoil(run: MeshRun) -> None:
        route = {"vhost": {"route": {"action": "DIRECT_RESPONSE"}}}
        patch = {"operation": "MERGE", "value": {"route": {"timeout": "1s"}}}
        match = {"context": "SIDECAR_OUTBOUND", "routeConfiguration": route}
        spec = {"configPatches": [{"applyTo": "HTTP_ROUTE", "match": match, "patch": patch}]}
        nowhere = Resource("EnvoyFilter", "to-nowhere", "a test", spec, ENVOY)
        write_resources([*run.istio.resources, nowhere], run.istio.file)

    with pytest.raises(StartError, match=r"sidecar was not ready(.|\n)*failed validation"), Spoiled(prepare(), spoil):
        pass


def test_envoy_ends_with_its_agent(prepare: Prepare) -> None:
    with prepare() as run:
        agent, envoy = run.pids()["order-sidecar"]
        os.kill(agent, signal.SIGKILL)
        until(lambda: not psutil.pid_exists(envoy) or psutil.Process(envoy).status() == psutil.STATUS_ZOMBIE)
        run.restart("order-sidecar")
        with run.caller("order", "payment") as client:
            assert client.post("/").status_code == 200


def test_a_failed_start_of_istiod_is_reported_with_the_reason(prepare: Prepare) -> None:
    def spoil(run: MeshRun) -> None:
        assert run.authority is not None
        run.authority.ca_key.write_text("no key")

    run = Spoiled(prepare(), spoil)
    with pytest.raises(StartError, match=r"istiod ended while it was starting(.|\n)*istiod\.log(.|\n)*PEM"), run:
        pass
    left = [process for process in psutil.process_iter(["cmdline"]) if str(run.folder.path) in str(process.info)]
    assert left == []


def test_refusals_of_istio_are_named_by_the_link(ports: Ports, folder: RunFolder) -> None:
    topology = load_topology("hybrid")
    run = MeshRun(topology, Switches(mesh="istio", mtls="on"), ports, folder)
    spoiled = [
        replace(resource, spec={**resource.spec, "rules": [{"to": [{"operation": {"ports": ["no port"]}}]}]})
        if (resource.kind, resource.name) == ("AuthorizationPolicy", "order-to-product")
        else resource
        for resource in run.istio.resources
    ]
    write_resources(spoiled, run.istio.file)
    with pytest.raises(
        TopologyError, match=r"topology=hybrid(.|\n)*link order -> product: AuthorizationPolicy: .*port"
    ):
        require_valid(spoiled, run.istio.file, "topology=hybrid")


def test_contradictions_are_named_by_the_link(ports: Ports, folder: RunFolder) -> None:
    run = MeshRun(load_topology("hybrid"), Switches(mesh="istio", mtls="on"), ports, folder)
    made = [item for item in run.istio.resources if (item.kind, item.name) != ("DestinationRule", "user")]
    write_resources(made, run.istio.file)
    with pytest.raises(
        TopologyError, match=r"link graphql-gateway -> user and order -> user .*VirtualService: IST0101"
    ):
        require_consistent(made, run.istio.file, "topology=hybrid")


def change(run: MeshRun, switches: Switches) -> None:
    write_resources(replace(run.istio, switches=switches).resources, run.istio.file)


def served_by(run: MeshRun) -> set[str]:
    with run.caller("rest-gateway", "product") as client:
        return {client.post("/").json()["served_by"] for _ in range(100)}


def serial(run: MeshRun, name: str) -> int:
    """Returns the serial number of the certificate that a sidecar presents to new callers."""
    (inbound,) = run.workload(name).inbound
    assert run.authority is not None
    own = issue(run.authority, [identity("rest-gateway")], run.folder.keys / "own")
    context = ssl.create_default_context(cafile=str(run.authority.root_cert))
    context.check_hostname = False
    context.load_cert_chain(own.chain, own.key)
    plain = socket.create_connection((run.workload(name).address, inbound.port), timeout=10)
    with context.wrap_socket(plain) as connection:
        shown = connection.getpeercert(binary_form=True)
    assert shown is not None
    return x509.load_der_x509_certificate(shown).serial_number


def handshakes(run: MeshRun, name: str) -> int:
    workload = run.workload(name)
    asked = f"http://envoy/stats?filter=listener.{workload.address}.*ssl.handshake$"
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(workload.admin))) as client:
        return sum(int(line.rpartition(": ")[2]) for line in client.get(asked).text.splitlines())


def ask_for_certificate(run: MeshRun, token: str) -> list[str]:
    """Asks istiod for a certificate as an agent does; returns the identities in it."""

    assert run.authority is not None
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, hashes.SHA256())
    csr = request.public_bytes(Encoding.PEM)
    # Field 1 of IstioCertificateRequest is the signing request; field 1 of the answer has the chain's certificates.
    size = len(csr)
    sent = b"\x0a" + bytes([size & 0x7F | 0x80, size >> 7]) + csr
    credentials = grpc.ssl_channel_credentials(run.authority.root_cert.read_bytes())
    options = [("grpc.ssl_target_name_override", "istiod.istio-system.svc"), ("grpc.enable_http_proxy", 0)]
    with grpc.secure_channel(run.ports.address("istiod-xds"), credentials, options) as channel:
        create = channel.unary_unary("/istio.v1.auth.IstioCertificateService/CreateCertificate")
        answer: bytes = create(sent, timeout=10, metadata=[("authorization", f"Bearer {token}")])
    first = answer[answer.index(b"-----BEGIN") :]
    names = x509.load_pem_x509_certificate(first).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return names.get_values_for_type(x509.UniformResourceIdentifier)
