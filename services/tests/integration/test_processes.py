"""The services as processes: ready when they say so, stopped by a signal, clear about a wrong setting."""

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
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

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


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("name", ["product", "user"])
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
        assert time.monotonic() - began < 5
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


def test_channel_in_plain_grpc_reads_a_product(role_url: Callable[[str], str], free_address: str) -> None:
    env = {"SHOP_COMPONENT": "product", "SHOP_LISTEN_GRPC": free_address, "SHOP_DATABASE_URL": role_url("product")}
    with process("shop.product", env):
        wait_until_serving(free_address)
        with grpc.insecure_channel(free_address, options=[("grpc.enable_http_proxy", 0)]) as channel:
            stub = product_pb2_grpc.ProductServiceStub(channel)
            page = stub.ListProducts(product_pb2.ListProductsRequest(page_size=1), timeout=LIMIT_S)
            assert len(page.products) <= 1


@pytest.mark.parametrize(
    ("module", "env", "code", "said"),
    [
        ("shop.product", {}, 2, "SHOP_COMPONENT is not set; valid: product"),
        ("shop.product", {"SHOP_COMPONENT": "product"}, 2, "SHOP_DATABASE_URL is not set"),
        ("shop.user", {"SHOP_COMPONENT": "user"}, 2, "SHOP_JWT_PRIVATE_KEY_FILE is not set"),
        (
            "shop.user",
            {"SHOP_COMPONENT": "user", "SHOP_JWT_PRIVATE_KEY_FILE": "/no/such/file"},
            2,
            "cannot read /no/such/file",
        ),
    ],
)
def test_wrong_setting_ends_the_process_with_one_line(
    module: str, env: Mapping[str, str], code: int, said: str
) -> None:
    with process(module, env) as running:
        out, err = running.communicate(timeout=LIMIT_S)
    assert running.returncode == code
    assert said in err
    assert err.startswith("error: ")
    assert "Traceback" not in err + out


def test_port_in_use_ends_the_process_with_one_line(role_url: Callable[[str], str], free_address: str) -> None:
    env = {"SHOP_COMPONENT": "product", "SHOP_LISTEN_GRPC": free_address, "SHOP_DATABASE_URL": role_url("product")}
    with process("shop.product", env):
        wait_until_serving(free_address)
        with process("shop.product", env) as second:
            _, err = second.communicate(timeout=LIMIT_S)
    assert second.returncode == 1
    assert f"error: cannot listen on {free_address}" in err
