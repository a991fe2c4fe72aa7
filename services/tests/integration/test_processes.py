"""Services and gateways as processes: ready when they say so, stopped by a signal, clear about a wrong setting."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import grpc
import httpx
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from shop.platform.access.jwt import Principal, TokenSigner
from shop.stubs import product_pb2, product_pb2_grpc

pytestmark = pytest.mark.integration
LIMIT_S = 20


@contextlib.contextmanager
def process(module: str, env: Mapping[str, str], stdin: int | None = None) -> Iterator[subprocess.Popen[str]]:
    """A service in a process of its own, killed at the end if it is still there."""
    running = subprocess.Popen(
        [sys.executable, "-m", module],
        env={"PATH": os.environ["PATH"], **env},
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield running
    finally:
        if running.poll() is None:
            running.kill()
        running.communicate()


def wait_until_serving(address: str) -> None:
    with grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)]) as channel:
        grpc.channel_ready_future(channel).result(timeout=LIMIT_S)
        answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=LIMIT_S)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING


@pytest.mark.parametrize(("name", "stop"), [("product", signal.SIGTERM), ("user", signal.SIGINT)])
def test_process_serves_and_stops_by_a_signal(
    name: str, stop: signal.Signals, role_url: Callable[[str], str], keys: Any, free_address: str
) -> None:
    env = {
        "SHOP_COMPONENT": name,
        "SHOP_LISTEN_GRPC": free_address,
        "SHOP_DATABASE_URL": role_url(name),
        "SHOP_DATABASE_POOL": "2",
        "SHOP_JWT_PRIVATE_KEY_FILE": str(keys.private_file),
        # Nothing listens there: spans that cannot be sent must not hold the process up.
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",
    }
    with process(f"shop.{name}", env) as running:
        wait_until_serving(free_address)
        began = time.monotonic()
        running.send_signal(stop)
        _, said = running.communicate(timeout=LIMIT_S)
        assert running.returncode == 0, said
        assert time.monotonic() - began < 9
        assert "Traceback" not in said


@pytest.mark.parametrize(("protocol", "framework"), [("REST", "fastapi"), ("GRAPHQL", "strawberry")])
def test_a_process_imports_before_its_database_is_there(
    protocol: str, framework: str, role_url: Callable[[str], str], free_address: str
) -> None:
    env = {
        "SHOP_COMPONENT": "product",
        f"SHOP_LISTEN_{protocol}": free_address,
        "SHOP_DATABASE_URL": f"{role_url('product').rpartition('/')[0]}/not_yet",
        "SHOP_AWAIT_STDIN": "on",
        "PYTHONPROFILEIMPORTTIME": "1",
    }
    with process("shop.product", env, stdin=subprocess.PIPE) as running:
        assert any(line.rstrip().endswith(f" {framework}") for line in running.stderr or ())
        assert running.poll() is None
        _, said = running.communicate("", timeout=LIMIT_S)
    assert running.returncode == 1
    assert "not_yet" in said


def gateway_env(name: str, keys: Any, address: str) -> dict[str, str]:
    """Settings of a gateway whose services are not there."""
    return {
        "SHOP_COMPONENT": name,
        "SHOP_LISTEN_HTTP": address,
        "SHOP_JWT_PUBLIC_KEY_FILE": str(keys.public_file),
        **{f"SHOP_PEER_{peer}": "grpc://127.0.0.1:9" for peer in ("PRODUCT", "ORDER", "USER", "PAYMENT")},
    }


def rest_gateway_answers(client: httpx.Client, partner: str) -> None:
    headers = {"authorization": f"Bearer {partner}", "x-envoy-expected-rq-timeout-ms": "2000"}
    assert client.get("/openapi.json").json()["openapi"] == "3.1.0"
    for path in ("/v1/products/1", "/v1/order-lines"):
        missing = client.get(path, headers=headers)
        assert (missing.status_code, missing.json()["code"]) == (503, "UNAVAILABLE")
    head = client.head("/docs")
    assert (head.status_code, head.content) == (200, b"")
    large = client.post("/v1/sessions", content=b" " * 1_000_000, headers={"content-type": "application/json"})
    assert large.status_code == 413


def graphql_gateway_answers(client: httpx.Client, _partner: str) -> None:
    missing = client.post("/graphql", json={"query": "{ __typename products { edges { cursor } } }"}).json()
    assert missing["errors"][0]["extensions"]["code"] == "UNAVAILABLE"
    assert client.post("/graphql", json={"query": "{ __typename }"}).json() == {"data": {"__typename": "Query"}}
    page = client.get("/graphql", headers={"accept": "text/html"})
    assert (page.status_code, "GraphiQL is not installed" in page.text) == (503, True)


@pytest.mark.parametrize("answers", [rest_gateway_answers, graphql_gateway_answers])
def test_a_gateway_serves_without_its_services_until_it_is_told_to_stop(
    answers: Callable[[httpx.Client, str], None], keys: Any, free_address: str
) -> None:
    module = answers.__name__.removesuffix("_answers")
    env = gateway_env(module.replace("_", "-"), keys, free_address)
    with process(module, env) as running, httpx.Client(base_url=f"http://{free_address}", timeout=10) as client:
        until = time.monotonic() + LIMIT_S
        while time.monotonic() < until and running.poll() is None:
            with contextlib.suppress(httpx.TransportError):
                assert client.get("/healthz").status_code == 200
                break
            time.sleep(0.05)
        answers(client, TokenSigner(keys.private_pem).sign(Principal("partner", 1)))
        assert client.get("/healthz").status_code == 200
        with process(module, env) as second:
            _, refused = second.communicate(timeout=LIMIT_S)
        running.send_signal(signal.SIGTERM)
        _, said = running.communicate(timeout=LIMIT_S)
    assert (running.returncode, "Traceback" in said) == (0, False), said
    assert (second.returncode, "Traceback" in refused) == (1, False), refused
    assert f"error: cannot listen on {free_address}" in refused


WRONG = [
    ("shop.product", {}, "SHOP_COMPONENT is not set; valid: product"),
    ("shop.product", {"SHOP_COMPONENT": "product"}, "SHOP_DATABASE_URL is not set"),
    ("shop.user", {"SHOP_COMPONENT": "user"}, "SHOP_JWT_PRIVATE_KEY_FILE is not set"),
    ("shop.user", {"SHOP_COMPONENT": "user", "SHOP_JWT_PRIVATE_KEY_FILE": "/no/file"}, "cannot read /no/file"),
    ("rest_gateway", {"SHOP_LISTEN_HTTP": ""}, "SHOP_LISTEN_HTTP is not set"),
    ("rest_gateway", {"SHOP_JWT_PUBLIC_KEY_FILE": ""}, "SHOP_JWT_PUBLIC_KEY_FILE is not set"),
    ("graphql_gateway", {"SHOP_JWT_PUBLIC_KEY_FILE": "/no/file"}, "is '/no/file', which cannot be used"),
    ("graphql_gateway", {"SHOP_PEER_ORDER": ""}, "SHOP_PEER_ORDER is not set"),
]


@pytest.mark.parametrize(("module", "wrong", "said"), WRONG, ids=[case[2] for case in WRONG])
def test_wrong_setting_ends_the_process_with_one_line(
    module: str, wrong: Mapping[str, str], said: str, keys: Any, free_address: str
) -> None:
    right = {} if module.startswith("shop") else gateway_env(module.replace("_", "-"), keys, free_address)
    with process(module, right | wrong) as running:
        out, err = running.communicate(timeout=LIMIT_S)
    assert running.returncode == 2
    assert said in err
    assert err.startswith("error: ")
    assert "Traceback" not in err + out


def test_plain_grpc_reads_a_product_and_a_port_in_use_ends_a_second_process(
    role_url: Callable[[str], str], free_address: str
) -> None:
    env = {"SHOP_COMPONENT": "product", "SHOP_LISTEN_GRPC": free_address, "SHOP_DATABASE_URL": role_url("product")}
    with process("shop.product", env):
        wait_until_serving(free_address)
        with grpc.insecure_channel(free_address, options=[("grpc.enable_http_proxy", 0)]) as channel:
            stub = product_pb2_grpc.ProductServiceStub(channel)
            page = stub.ListProducts(product_pb2.ListProductsRequest(page_size=1), timeout=LIMIT_S)
            assert len(page.products) <= 1
        with process("shop.product", env) as second:
            _, err = second.communicate(timeout=LIMIT_S)
    assert second.returncode == 1
    assert f"error: cannot listen on {free_address}" in err
