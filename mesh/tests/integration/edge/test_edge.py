"""The real Envoy and the real Kong in front of stand-in gateways, with a real Jaeger."""

from __future__ import annotations

import contextlib
import json
import os
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from stand_ins import QuietHandler, edge_run, needs_kong, serve, until

from mesh.components.jaeger import JAEGER, SpanCounts, jaeger_component, jaeger_ports, span_counts
from mesh.components.keys import key_pair
from mesh.description.ports import HOST, Ports
from mesh.description.topology import GATEWAYS, load_topology
from mesh.edge.component import ACCESS_LOG, edge_component
from mesh.edge.limits import HEALTH_PATH
from mesh.edge.plan import EdgePlan
from mesh.edge.plugins import ISSUER
from mesh.paths import RunFolder
from mesh.sidecars.certificates import edge_certificate, make_authority
from mesh.supervisor.processes import Component
from mesh.supervisor.readiness import http_ok
from mesh.supervisor.run import Run

TRACE = "4bf92f3577b34da6a3ce929d0e0e47"
PARENT = "00f067aa0ba902b7"


class EdgeRun(Run):
    def __init__(
        self, program: str, ports: Ports, folder: RunFolder, plugins: str = "none", *, tls: bool = False
    ) -> None:
        super().__init__(ports, folder)
        self.certificate = edge_certificate(folder) if tls else None
        self.program = program
        self.plugins = plugins

    def port_names(self) -> list[str]:
        return ["edge", *jaeger_ports(self.ports)]

    def components(self) -> Sequence[Component]:
        topology, log = load_topology("hybrid"), self.logs / ACCESS_LOG
        key = key_pair(self.folder.keys).public.read_text()
        plan = EdgePlan(
            topology, self.ports, log, plugins=self.plugins, jwt_public_key=key, certificate=self.certificate
        )
        edge = edge_component(self.program, plan, self.folder, os.environ)
        first = edge.argv
        if self.program == "envoy":  # by default, Envoy writes its log every 10 s
            edge = replace(edge, argv=lambda: [*first(), "--file-flush-interval-msec", "100"])
        return [jaeger_component(self.ports, os.environ, self.folder), edge]


class Gateway(QuietHandler):
    """Answers with its name and with the request, slowly if the request asks for that."""

    disable_nagle_algorithm = True

    def do_GET(self) -> None:  # noqa: N802  http.server calls it by this name
        time.sleep(float(self.headers.get("x-sleep", "0")))
        request = {"port": self.server.server_port, "path": self.path, "headers": dict(self.headers)}
        self.answer(json.dumps(request).encode())


@pytest.fixture(scope="module", params=["envoy", pytest.param("kong", marks=needs_kong)])
def program(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def behind(ports: Ports) -> AbstractContextManager[None]:
    return serve(Gateway, *((HOST, ports[name]) for name in GATEWAYS))


Start = Callable[..., AbstractContextManager[EdgeRun]]


@pytest.fixture(scope="module")
def start(free_ports: Callable[[], Ports], tmp_path_factory: pytest.TempPathFactory) -> Start:
    @contextmanager
    def run(program: str, **options: Any) -> Iterator[EdgeRun]:
        ports = free_ports()
        folder = RunFolder.of(ports.base, root=tmp_path_factory.mktemp("edge"))
        with behind(ports), EdgeRun(program, ports, folder, **options) as started:
            yield started

    return run


@pytest.fixture(scope="module")
def edge(program: str, start: Start) -> Iterator[EdgeRun]:
    with start(program) as run:
        yield run


@pytest.fixture
def client(edge: EdgeRun) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=edge.ports.url("edge"), trust_env=False, timeout=10) as made:
        yield made


def spans(edge: EdgeRun, trace_id: str) -> list[dict[str, Any]]:
    """Returns the spans of a trace, once both have arrived."""

    def read() -> list[dict[str, Any]]:
        answer = httpx.get(f"{edge.ports.url('jaeger-query-http')}/api/v3/traces/{trace_id}", trust_env=False)
        return [
            {**span, "resource": {a["key"]: a["value"].get("stringValue") for a in r["resource"]["attributes"]}}
            for r in (answer.json()["result"]["resourceSpans"] if answer.status_code == 200 else ())
            for scope in r["scopeSpans"]
            for span in scope["spans"]
        ]

    until(lambda: len(read()) >= 2)
    return read()


@pytest.mark.parametrize(
    ("path", "component"),
    [
        ("/graphql", "graphql-gateway"),
        ("/graphql?query=x", "graphql-gateway"),
        ("/v1/products?ids=1,2", "rest-gateway"),
        ("/v1/orders/7:cancel", "rest-gateway"),
        ("/docs", "rest-gateway"),
        ("/openapi.json", "rest-gateway"),
    ],
)
def test_routes(client: httpx.Client, edge: EdgeRun, path: str, component: str) -> None:
    answer = client.get(path).json()
    assert answer["port"] == edge.ports[component]
    assert answer["path"] == path


@pytest.mark.parametrize("path", ["/", "/graphqlx", "/v10", "/openapi.jsonx", "/admin"])
def test_other_paths_lead_nowhere(client: httpx.Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    about = {"status": 404, "code": "NOT_FOUND", "detail": "there is nothing at this path", "instance": path}
    problem = {"type": "https://hopwise.invalid/problems/not-found", "title": "Not found", **about}
    assert answer.json() == problem


@pytest.mark.parametrize("chunked", [False, True])
def test_body_that_is_too_large_is_refused(client: httpx.Client, chunked: bool) -> None:
    body = b"x" * 200_000
    answer = client.post("/v1/products", content=iter([body]) if chunked else body)
    assert answer.status_code == 413
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.json()["code"], answer.json()["title"]) == ("RESOURCE_EXHAUSTED", "Request too large")


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("application/graphql-response+json, application/json;q=0.9", "application/graphql-response+json"),
        ("*/*", "application/json"),
    ],
)
@pytest.mark.parametrize("path", ["/graphql", "/graphql?a=1", "/graphql/"])
def test_graphql_gets_its_own_errors(client: httpx.Client, path: str, accept: str, media_type: str) -> None:
    answer = client.post(path, content=b"x" * 200_000, headers={"accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (413, media_type)
    error = {"message": "the body is too large", "extensions": {"code": "RESOURCE_EXHAUSTED"}}
    assert answer.json() == {"errors": [error]}


def test_a_call_of_an_unknown_service_gets_a_status(edge: EdgeRun) -> None:
    url = f"{edge.ports.url('edge')}/shop.bank.v1.BankService/Pay"
    argv = ["curl", "-si", "--http2-prior-knowledge", "-X", "POST", "-H", "content-type: application/grpc", url]
    answer = subprocess.run(argv, capture_output=True, text=True, check=True)
    head = answer.stdout.lower()
    assert head.startswith("http/2 200")
    assert "grpc-status: 12" in head
    assert "grpc-message: there is nothing at this path" in head


def test_clients_control_neither_mark_nor_deadline(client: httpx.Client) -> None:
    forged = {"x-hopwise-edge": "0", "x-envoy-expected-rq-timeout-ms": "1", "x-envoy-retry-on": "5xx", "any-bin": "!"}
    for headers in ({}, forged):
        answer = client.get("/graphql", headers=headers).json()
        seen = {name.lower(): value for name, value in answer["headers"].items()}
        assert seen["x-envoy-expected-rq-timeout-ms"] == "5000"
    assert seen["x-hopwise-edge"] == "127.0.0.1"
    assert {"x-envoy-retry-on", "any-bin"}.isdisjoint(seen)


@pytest.mark.parametrize(("proxied", "address"), [(False, "127.0.0.1"), (True, "203.0.113.7")])
def test_a_client_is_known_by_the_address_that_the_proxy_in_front_appended(
    program: str, proxied: bool, address: str, free_ports: Callable[[], Ports], tmp_path: Path
) -> None:
    ports = free_ports()
    folder = RunFolder.of(ports.base, root=tmp_path)
    plan = EdgePlan(load_topology("hybrid"), ports, folder.logs / ACCESS_LOG, proxied=proxied)
    # The client has sent the first address.
    headers = {"x-forwarded-for": "198.51.100.9, 203.0.113.7"}
    with behind(ports), edge_run(plan, ports, folder, program):
        answer = httpx.get(f"{ports.url('edge')}/graphql", headers=headers, trust_env=False).json()
    assert {name.lower(): value for name, value in answer["headers"].items()}["x-hopwise-edge"] == address


def test_typical_plugins(program: str, start: Start) -> None:
    claims = {"iss": ISSUER, "sub": "users/1", "exp": int(time.time()) + 600}
    with (
        start(program, plugins="typical") as run,
        httpx.Client(base_url=run.ports.url("edge"), trust_env=False, timeout=10) as client,
    ):
        private = key_pair(run.folder.keys).private.read_text()
        tokens = {name: jwt.encode({**claims, "iss": name}, private, "EdDSA") for name in (ISSUER, "somebody")}
        answers = {
            name: client.get("/graphql", headers={"authorization": f"Bearer {token}"}) for name, token in tokens.items()
        }
        answers["nobody"] = client.get("/graphql")
        for answer in answers.values():
            # An invalid token is refused by the services, and not by the edge.
            assert answer.status_code == 200
            seen = {name.lower(): value for name, value in answer.json()["headers"].items()}
            assert answer.headers["x-request-id"] == seen["x-request-id"]
        if program == "kong":
            known = {name: answer.json()["headers"].get("X-Consumer-Username") for name, answer in answers.items()}
            assert known == {ISSUER: "shop", "somebody": "anonymous", "nobody": "anonymous"}


def test_healthz_needs_no_gateway(client: httpx.Client) -> None:
    assert client.get("/healthz").text == "ok\n"


@pytest.fixture(scope="module")
def encrypted(program: str, start: Start) -> Iterator[EdgeRun]:
    with start(program, tls=True) as run:
        yield run


def curl(run: EdgeRun, *options: str, host: str = "127.0.0.1", path: str = "/graphql") -> tuple[int, str]:
    """curl's exit code, and the answer's status, version and scheme as curl prints them."""
    port, written = run.ports["edge"], "%{http_code} %{http_version} %{scheme}"
    argv = ["curl", "-s", "--noproxy", "*", "-o", os.devnull, "-w", written, *options]
    argv += ["--connect-to", f"::127.0.0.1:{port}", f"https://{host}:{port}{path}"]
    asked = subprocess.run(argv, capture_output=True, text=True, check=False)
    return asked.returncode, asked.stdout.lower()


@pytest.mark.parametrize(("version", "spoken"), [("--http1.1", "1.1"), ("--http2", "2")])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "edge"])
def test_tls(encrypted: EdgeRun, version: str, spoken: str, host: str) -> None:
    assert encrypted.certificate is not None
    trusting = ("--cacert", str(encrypted.certificate.trusted), version)
    assert curl(encrypted, *trusting, host=host) == (0, f"200 {spoken} https")
    assert curl(encrypted, *trusting, host=host, path="/healthz") == (0, f"200 {spoken} https")


CURL_REFUSES_THE_CERTIFICATE, CURL_HAS_NO_TLS = 60, 35


def test_tls_is_checked(encrypted: EdgeRun, tmp_path: Path) -> None:
    assert encrypted.certificate is not None
    trusted = ("--cacert", str(encrypted.certificate.trusted))
    assert curl(encrypted, *trusted, host="shop.example")[0] == CURL_REFUSES_THE_CERTIFICATE
    foreign = make_authority(tmp_path / "foreign", "foreign").root_cert
    assert curl(encrypted, "--cacert", str(foreign))[0] == CURL_REFUSES_THE_CERTIFICATE
    assert http_ok(encrypted.ports["edge"], HEALTH_PATH, trusted=encrypted.certificate.trusted)()
    assert not http_ok(encrypted.ports["edge"], HEALTH_PATH, trusted=foreign)()
    assert curl(encrypted, *trusted, "--tls-max", "1.2")[0] == CURL_HAS_NO_TLS


def test_tls_leaves_log_and_spans_as_they_are(encrypted: EdgeRun) -> None:
    assert encrypted.certificate is not None
    trace_id = f"{TRACE}09"
    context = ssl.create_default_context(cafile=str(encrypted.certificate.trusted))
    url = f"https://127.0.0.1:{encrypted.ports['edge']}/v1/products/9"
    headers = {"traceparent": f"00-{trace_id}-{PARENT}-01"}
    assert httpx.get(url, headers=headers, verify=context, trust_env=False).status_code == 200
    upstream = next(span for span in spans(encrypted, trace_id) if span["parentSpanId"] != PARENT)
    line = read_log_line(encrypted, "/v1/products/9")
    assert line["traceparent"] == f"00-{trace_id}-{upstream['spanId']}-01"
    assert (line["status"], line["upstream"], line["method"]) == (200, "rest-gateway", "GET")


def test_slow_gateway_is_cut_off_at_5_s(client: httpx.Client) -> None:
    began = time.monotonic()
    answer = client.get("/graphql", headers={"x-sleep": "6"})
    assert answer.status_code == 504
    error = {"message": "the shop did not answer in time; try again", "extensions": {"code": "DEADLINE_EXCEEDED"}}
    assert answer.json() == {"errors": [error]}
    assert time.monotonic() - began > 4.9


def test_sampled_request_leaves_a_server_and_a_client_span(edge: EdgeRun, client: httpx.Client) -> None:
    trace_id = f"{TRACE}01"
    before = time.time_ns()
    seen = client.get("/graphql", headers={"traceparent": f"00-{trace_id}-{PARENT}-01"}).json()["headers"]
    after = time.time_ns()
    found = {span["kind"]: span for span in spans(edge, trace_id)}
    server, upstream = found[2], found[3]  # OTLP's numbers for SERVER and CLIENT
    assert server["parentSpanId"] == PARENT
    assert upstream["parentSpanId"] == server["spanId"]
    assert upstream["resource"]["service.name"] == server["resource"]["service.name"] == "edge"
    passed_on = {name.lower(): value for name, value in seen.items()}["traceparent"]
    assert passed_on == f"00-{trace_id}-{upstream['spanId']}-01"
    times = [int(server["startTimeUnixNano"]), int(upstream["startTimeUnixNano"])]
    times += [int(upstream["endTimeUnixNano"]), int(server["endTimeUnixNano"])]
    assert times == sorted(times)
    # Times are in nanoseconds since the epoch; Envoy's clock ticks in whole microseconds and rounds down.
    assert before - 1000 <= times[0]
    assert times[-1] <= after


def test_an_unsampled_request_leaves_no_span(edge: EdgeRun, client: httpx.Client) -> None:
    trace_id = f"{TRACE}02"
    counted = span_counts(edge.ports).accepted
    seen = client.get("/graphql", headers={"traceparent": f"00-{trace_id}-{PARENT}-00"}).json()["headers"]
    passed_on = {name.lower(): value for name, value in seen.items()}["traceparent"]
    assert passed_on.endswith("-00")
    assert passed_on.split("-")[1] == trace_id
    client.get("/healthz")
    time.sleep(1)
    assert span_counts(edge.ports).accepted == counted


def test_received_spans_were_stored(edge: EdgeRun, client: httpx.Client) -> None:
    before = span_counts(edge.ports)
    for _ in range(200):
        client.get("/graphql")
    until(lambda: span_counts(edge.ports).stored >= before.stored + 400)
    after = span_counts(edge.ports)
    assert after == SpanCounts(accepted=before.accepted + 400, refused=0, stored=before.stored + 400, failed=0)


def read_log_line(edge: EdgeRun, path: str) -> dict[str, Any]:
    """Returns the line in the access log for a request to a path that no other test uses."""

    def find() -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in (edge.logs / ACCESS_LOG).read_text().splitlines()]
        return [line for line in lines if line["path"] == path]

    line: dict[str, Any] = until(find)[0]
    return line


def test_access_log_has_a_request_s_span_and_its_duration(edge: EdgeRun, client: httpx.Client) -> None:
    trace = f"{TRACE}77"
    client.get("/v1/products/77", headers={"traceparent": f"00-{trace}-{PARENT}-01", "x-sleep": "0.2"})
    line = read_log_line(edge, "/v1/products/77")
    upstream = next(span for span in spans(edge, trace) if span["parentSpanId"] != PARENT)
    assert line["traceparent"] == f"00-{trace}-{upstream['spanId']}-01"
    assert (line["status"], line["upstream"], line["method"]) == (200, "rest-gateway", "GET")
    assert 0.2e9 <= line["duration_ns"] < 5e9
    assert line["duration_ns"] // 1_000_000 == line["duration_ms"]
    if edge.program == "envoy":
        assert 0 < line["sending_ns"] < line["duration_ns"] - 0.2e9
        assert 0.2e9 <= line["behind_ns"] < line["duration_ns"]


def processes(run: EdgeRun) -> set[int]:
    """Returns the edge's process; for Kong, whose master process stays, the worker processes."""
    first, *others = run.pids()["edge"]
    return {first} if run.program == "envoy" else set(others)


@pytest.mark.parametrize(
    ("program", "tls"), [("envoy", True), *(pytest.param("kong", tls, marks=needs_kong) for tls in (False, True))]
)
def test_an_edge_that_hands_over_refuses_no_request(program: str, tls: bool, start: Start) -> None:
    with start(program, tls=tls) as run:
        memory = Path(f"/dev/shm/envoy_shared_memory_{run.folder.envoy_id * 10}")
        trusted = ssl.create_default_context(cafile=str(run.certificate.trusted)) if run.certificate else True
        url = f"{'https' if tls else 'http'}://127.0.0.1:{run.ports['edge']}"
        over, answers = threading.Event(), []
        # nginx may close an idle connection at the very moment when a client uses it again.
        unanswered = (httpx.ReadError, httpx.RemoteProtocolError) if program == "kong" else ()

        def ask() -> None:
            # The client keeps its connection open until the old process asks it to reconnect to the new process.
            with httpx.Client(base_url=url, verify=trusted, trust_env=False, timeout=10) as kept:
                while not over.is_set():
                    with contextlib.suppress(*unanswered):
                        answers.append(kept.get("/v1/products/9").status_code)

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        seen = [processes(run)]
        for _ in range(2):
            slow = threading.Thread(
                target=lambda: answers.append(
                    httpx.get(f"{url}/graphql", headers={"x-sleep": "1"}, verify=trusted, trust_env=False).status_code
                )
            )
            slow.start()
            run.hand_over("edge")
            run.check()
            seen.append(processes(run))
            slow.join(10)
        over.set()
        for thread in threads:
            thread.join(10)
        assert not any(thread.is_alive() for thread in threads)
        assert len(answers) > 10
        assert set(answers) == {200}
        assert len(set.union(*seen)) == sum(map(len, seen))
        assert memory.exists() == (program == "envoy")
    assert not memory.exists()


def test_jaeger_stops_at_once(edge: EdgeRun) -> None:
    began = time.monotonic()
    edge.restart(JAEGER)
    assert time.monotonic() - began < 8
