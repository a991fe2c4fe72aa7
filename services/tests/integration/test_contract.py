"""What a component is told and does, whatever it is written in (docs/system/your-component.md): the product service.

The program is ours, or the one whose conformance is tested.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import psycopg
import pytest
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import ErrorInfo
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from conforming import Conforming, conforming
from shop.platform import page_token
from shop.platform.access.jwt import Principal, TokenSigner
from shop.platform.deadline import DEADLINE_HEADER
from shop.stubs import product_pb2 as pb
from shop.stubs import product_pb2_grpc

pytestmark = pytest.mark.integration
PROGRAM = conforming() or Conforming("product", (sys.executable, "-m", "shop.product"), ("grpc",))
SERVICE = "shop.product.v1.ProductService"
LIMIT_S = 20
TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
EDGE = "spiffe://cluster.local/ns/default/sa/edge"
OUTSIDE = (("x-hopwise-edge", "1"),)
Metadata = Sequence[tuple[str, str]]


class Collector:
    """An OTLP receiver that keeps the spans that it takes, by name."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.resources: list[dict[str, str]] = []
        handler = grpc.unary_unary_rpc_method_handler(
            self._take,
            request_deserializer=ExportTraceServiceRequest.FromString,
            response_serializer=ExportTraceServiceResponse.SerializeToString,
        )
        self.server = grpc.server(ThreadPoolExecutor(1))
        service = "opentelemetry.proto.collector.trace.v1.TraceService"
        self.server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, {"Export": handler})])
        self.url = f"http://127.0.0.1:{self.server.add_insecure_port('127.0.0.1:0')}"

    def _take(self, request: ExportTraceServiceRequest, _: object) -> ExportTraceServiceResponse:
        for process in request.resource_spans:
            self.resources.append({one.key: one.value.string_value for one in process.resource.attributes})
            self.spans += [span for scope in process.scope_spans for span in scope.spans]
        return ExportTraceServiceResponse()

    def named(self, name: str) -> list[Any]:
        """The spans of this name, in the order of their starts."""
        return sorted((span for span in self.spans if span.name == name), key=lambda span: span.start_time_unix_nano)


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    made.server.start()
    yield made
    made.server.stop(0)


@dataclass
class Running:
    """The program as a process of its own."""

    process: subprocess.Popen[str]
    channel: grpc.Channel
    stub: product_pb2_grpc.ProductServiceStub

    def wait_until_serving(self) -> None:
        """Returns once it answers; fails with what it said if it ends instead."""
        ready, until = grpc.channel_ready_future(self.channel), time.monotonic() + LIMIT_S
        while time.monotonic() < until:
            with contextlib.suppress(grpc.FutureTimeoutError):
                ready.result(timeout=0.2)
                break
            if self.process.poll() is not None:
                _, said = self.process.communicate(timeout=LIMIT_S)
                pytest.fail(f"it ended with exit code {self.process.returncode} in place of serving: {said}")
        answer = health_pb2_grpc.HealthStub(self.channel).Check(health_pb2.HealthCheckRequest(), timeout=LIMIT_S)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING

    def stop(self, number: signal.Signals = signal.SIGTERM) -> str:
        """What it says before it ends, well, once told to stop."""
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=LIMIT_S)
        assert self.process.returncode == 0, said
        return said


@pytest.fixture
def settings(role_url: Callable[[str], str], keys: Any, free_address: str) -> dict[str, str]:
    """What the program is told at least."""
    return {
        "SHOP_COMPONENT": "product",
        "SHOP_CONTRACT": "1",
        "SHOP_LISTEN_GRPC": free_address,
        "SHOP_DATABASE_URL": role_url("product"),
        "SHOP_DATABASE_POOL": "2",
        "SHOP_JWT_PUBLIC_KEY_FILE": str(keys.public_file),
    }


@contextlib.contextmanager
def running(settings: Mapping[str, str], stdin: int = subprocess.DEVNULL) -> Iterator[Running]:
    """The program, killed at the end if it is still there."""
    process = subprocess.Popen(
        PROGRAM.command,
        env={"PATH": os.environ["PATH"], **settings},
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    target = settings.get("SHOP_LISTEN_GRPC", "127.0.0.1:9")
    options = (("grpc.enable_http_proxy", 0), ("grpc.default_authority", "product"))
    try:
        with grpc.insecure_channel(target, options=options) as channel:
            yield Running(process, channel, product_pb2_grpc.ProductServiceStub(channel))
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def serving(settings: dict[str, str]) -> Iterator[Running]:
    """The program, answering."""
    with running(settings) as program:
        program.wait_until_serving()
        yield program


def ended(settings: Mapping[str, str]) -> tuple[int, str]:
    """The exit code of a program that cannot start, and what it said."""
    with running(settings) as program:
        _, said = program.process.communicate(timeout=LIMIT_S + 10)
        return program.process.returncode, said


def refused(call: Callable[..., Any], request: Message, metadata: Metadata = (), timeout: float = LIMIT_S) -> ErrorInfo:
    """The ErrorInfo of a call that fails."""
    with pytest.raises(grpc.RpcError) as raised:
        call(request, metadata=metadata, timeout=timeout)
    status = rpc_status.from_call(raised.value)
    assert status is not None, raised.value
    info = ErrorInfo()
    assert status.details[0].Unpack(info)
    assert info.domain == "hopwise"
    return info


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serves_until_a_signal_and_ends_with_exit_code_0(serving: Running, number: signal.Signals) -> None:
    serving.stub.ListProducts(pb.ListProductsRequest(page_size=1), timeout=LIMIT_S)
    assert "Traceback" not in serving.stop(number)


def test_waits_for_the_end_of_its_standard_input(settings: dict[str, str]) -> None:
    with running(settings | {"SHOP_AWAIT_STDIN": "on"}, stdin=subprocess.PIPE) as program:
        with pytest.raises(grpc.FutureTimeoutError):
            grpc.channel_ready_future(program.channel).result(timeout=1)
        assert program.process.stdin is not None
        program.process.stdin.close()
        program.process.stdin = None
        program.wait_until_serving()


def test_listens_on_a_socket_and_takes_the_place_of_a_stale_one(settings: dict[str, str], tmp_path: Path) -> None:
    listen = {"SHOP_LISTEN_GRPC": f"unix:{tmp_path}/product.sock"}
    with running(settings | listen) as program:
        program.wait_until_serving()
        program.process.kill()
        program.process.wait(timeout=LIMIT_S)
    with running(settings | listen) as again:
        again.wait_until_serving()


@pytest.mark.parametrize(
    ("wrong", "code", "said"),
    [
        ({"SHOP_LISTEN_GRPC": ""}, 2, "SHOP_LISTEN_GRPC"),
        ({"SHOP_LISTEN_GRPC": "nowhere"}, 2, "SHOP_LISTEN_GRPC"),
        ({"SHOP_DATABASE_URL": ""}, 2, "SHOP_DATABASE_URL"),
        ({"SHOP_DATABASE_POOL": "none"}, 2, "SHOP_DATABASE_POOL"),
        ({"SHOP_EDGE_IDENTITY": "edge"}, 2, "SHOP_EDGE_IDENTITY"),
        ({"SHOP_JWT_PUBLIC_KEY_FILE": "/no/file"}, 2, "SHOP_JWT_PUBLIC_KEY_FILE"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, str], wrong: dict[str, str], code: int, said: str) -> None:
    assert (found := ended(settings | wrong))[0] == code, found
    assert said in found[1]


def test_a_database_that_is_not_there_ends_it_without_a_word_of_the_password(settings: dict[str, str]) -> None:
    url = settings["SHOP_DATABASE_URL"]
    code, said = ended(settings | {"SHOP_DATABASE_URL": f"{url.rpartition('/')[0]}/not_yet"})
    assert code == 1, said
    assert "not_yet" in said
    assert url.partition("@")[0].rpartition(":")[2] not in said


def test_a_port_in_use_ends_it(settings: dict[str, str], serving: Running) -> None:
    code, said = ended(settings)
    assert code == 1, said
    assert settings["SHOP_LISTEN_GRPC"] in said
    assert serving.process.poll() is None


def test_health_and_reflection_name_the_service(serving: Running) -> None:
    for name in ("", SERVICE):
        request = health_pb2.HealthCheckRequest(service=name)
        answer = health_pb2_grpc.HealthStub(serving.channel).Check(request, timeout=LIMIT_S)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
    ask = reflection_pb2.ServerReflectionRequest(list_services="")
    reflection = reflection_pb2_grpc.ServerReflectionStub(serving.channel)
    answers = reflection.ServerReflectionInfo(iter([ask]), timeout=LIMIT_S)
    assert SERVICE in [one.name for answer in answers for one in answer.list_services_response.service]


def test_who_may_call_what(serving: Running, keys: Any) -> None:
    signer = TokenSigner(keys.private_pem)
    partner, customer = (
        (*OUTSIDE, ("authorization", f"Bearer {signer.sign(Principal(kind, 1))}")) for kind in ("partner", "customer")
    )
    expired = (*OUTSIDE, ("authorization", f"Bearer {signer.sign(Principal('partner', 1), ttl_s=-60)}"))
    create, release = serving.stub.CreateProduct, serving.stub.ReleaseReservation
    key = pb.ReleaseReservationRequest(reservation_id=str(uuid.uuid4()))
    serving.stub.ListProducts(pb.ListProductsRequest(), metadata=OUTSIDE, timeout=LIMIT_S)
    assert release(key, timeout=LIMIT_S).state == pb.RESERVATION_STATE_RELEASED
    for caller in (OUTSIDE, partner):
        assert refused(release, key, caller).reason == "PERMISSION_DENIED"
    nothing = pb.CreateProductRequest()
    for caller in (OUTSIDE, expired, (*OUTSIDE, ("authorization", "Bearer x.y.z"))):
        assert refused(create, nothing, caller).reason == "UNAUTHENTICATED"
    assert refused(create, nothing, customer).reason == "PERMISSION_DENIED"
    assert refused(create, nothing, partner).reason == "INVALID_ARGUMENT"


def test_with_certificates_the_identity_tells_inside_from_outside(settings: dict[str, str]) -> None:
    def by(identity: str) -> Metadata:
        return (("x-forwarded-client-cert", f'Hash=00;Subject="CN=x, O=y";URI={identity}'),)

    with running(settings | {"SHOP_EDGE_IDENTITY": EDGE}) as program:
        program.wait_until_serving()
        key = pb.ReleaseReservationRequest(reservation_id=str(uuid.uuid4()))
        release = program.stub.ReleaseReservation
        for nobody in ((), by("spiffe://elsewhere/ns/default/sa/order"), OUTSIDE):
            assert refused(release, key, nobody).reason == "UNAUTHENTICATED"
        assert refused(release, key, by(EDGE)).reason == "PERMISSION_DENIED"
        release(key, metadata=by(EDGE.replace("edge", "order")), timeout=LIMIT_S)


def test_errors_have_their_reason_and_field(serving: Running) -> None:
    info = refused(serving.stub.GetProduct, pb.GetProductRequest(id=0))
    assert (info.reason, info.metadata["field"]) == ("INVALID_ARGUMENT", "id")
    assert refused(serving.stub.GetProduct, pb.GetProductRequest(id=2**62)).reason == "NOT_FOUND"
    stream = serving.channel.unary_stream(f"/{SERVICE}/StreamProductRows")
    unary = serving.channel.unary_unary(f"/{SERVICE}/GetProduct")
    for call in (unary, lambda *asked, **how: list(stream(*asked, **how))):
        assert refused(call, b"\xff\xff\xff").reason == "INVALID_ARGUMENT"  # type: ignore[arg-type]


def test_a_page_that_another_implementation_began_goes_on(serving: Running, admin: psycopg.Connection) -> None:
    ids = [_product(admin) for _ in range(2)]
    token = page_token.encode("ListProducts:contract", ids[0])
    asked = pb.ListProductsRequest(page_size=1, page_token=token, category="contract")
    assert serving.stub.ListProducts(asked, timeout=LIMIT_S).products[0].id == ids[1]
    first = serving.stub.ListProducts(pb.ListProductsRequest(page_size=1, category="contract"), timeout=LIMIT_S)
    assert page_token.decode(first.next_page_token, "ListProducts:contract") == first.products[0].id


def test_work_ends_with_the_time_that_the_edge_waits(serving: Running, admin: psycopg.Connection) -> None:
    product = _product(admin)
    edge = ((DEADLINE_HEADER, "400"),)
    with admin.transaction():
        admin.execute("SELECT FROM shop_product.product WHERE id = %s FOR UPDATE", [product])
        for _ in range(3):  # more often than there are connections
            late = refused(serving.stub.DeleteProduct, pb.DeleteProductRequest(id=product), edge)
            assert late.reason == "DEADLINE_EXCEEDED"
    serving.stub.DeleteProduct(pb.DeleteProductRequest(id=product), timeout=LIMIT_S)


def test_a_call_under_way_is_answered_although_the_process_stops(serving: Running, admin: psycopg.Connection) -> None:
    product = _product(admin)
    with admin.transaction():
        admin.execute("SELECT FROM shop_product.product WHERE id = %s FOR UPDATE", [product])
        call = serving.stub.DeleteProduct.future(pb.DeleteProductRequest(id=product), timeout=LIMIT_S)
        _wait_for_a_lock(admin)
        serving.process.send_signal(signal.SIGTERM)
    call.result(timeout=LIMIT_S)
    assert serving.process.wait(timeout=LIMIT_S) == 0


def test_a_sampled_request_leaves_its_spans_and_an_account(
    settings: dict[str, str], collector: Collector, tmp_path: Path, admin: psycopg.Connection
) -> None:
    traced = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "SHOP_INSTANCE": "product-2",
        "SHOP_TRIAL": "t1",
        "SHOP_TOPOLOGY": "mine",
        "SHOP_TELEMETRY_FOLDER": str(tmp_path),
        "SHOP_DELAY_US": "1500",
    }
    product = _product(admin)
    with running(settings | traced) as program:
        program.wait_until_serving()
        for flag, number in (("01", product), ("00", product), ("01", 2**62)):
            with contextlib.suppress(grpc.RpcError):
                metadata = (("traceparent", f"00-{TRACE}-{CALLER}-{flag}"),)
                program.stub.GetProduct(pb.GetProductRequest(id=number), metadata=metadata, timeout=LIMIT_S)
        program.stop()
    served, missing = collector.named(f"{SERVICE}/GetProduct")
    assert (served.kind, served.trace_id.hex(), served.parent_span_id.hex()) == (served.SPAN_KIND_SERVER, TRACE, CALLER)
    assert "error.type" not in _attributes(served)
    assert _attributes(missing)["error.type"] == "NOT_FOUND"
    assert missing.status.code != missing.status.STATUS_CODE_ERROR, "what is the caller's fault is no error of a server"
    assert _attributes(served)["shop.injected_delay_ms"] == 1.5
    assert _attributes(served)["shop.injected_delay_took_ms"] >= 1.5
    (waited, _), (read, _) = collector.named("pool.acquire"), collector.named("SELECT product")
    assert waited.kind == waited.SPAN_KIND_INTERNAL
    assert read.kind == read.SPAN_KIND_CLIENT
    assert _attributes(read)["db.system.name"] == "postgresql"
    assert {waited.parent_span_id, read.parent_span_id} == {served.span_id}
    assert len(collector.spans) == 6, "nothing of the request that its caller does not sample"
    told = {
        "service.name": "product",
        "service.instance.id": "product-2",
        "shop.trial": "t1",
        "shop.topology": "mine",
    }
    assert all(told.items() <= of.items() for of in collector.resources)
    account = json.loads((tmp_path / "product-2.json").read_text())
    assert (account["recorded"], account["exported"], account["lost"]) == (6, 6, 0)
    assert all(account["cost_ns"][kind] > 0 for kind in ("SERVER", "CLIENT", "INTERNAL"))


def _attributes(span: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


def _product(admin: psycopg.Connection) -> int:
    row = admin.execute(
        "INSERT INTO shop_product.product (title, description, category, price_minor, currency, stock)"
        " VALUES ('Tea', '', 'contract', 100, 'EUR', 1) RETURNING id"
    ).fetchone()
    assert row is not None
    return int(row[0])


def _wait_for_a_lock(admin: psycopg.Connection) -> None:
    """Returns once a statement waits for a lock."""
    waiting = threading.Event()
    for _ in range(LIMIT_S * 20):
        if admin.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone():
            return
        waiting.wait(0.05)
    raise AssertionError("nothing waits for a lock")
