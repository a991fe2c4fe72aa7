"""Behaviour of processes beyond the contract: imports before the database is up, and gateways without services.

The tests in `contract` start and stop every process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx
import pytest

from shop.platform.access.jwt import Principal, TokenSigner

LIMIT_S = 20


@contextlib.contextmanager
def process(module: str, env: Mapping[str, str], stdin: int | None = None) -> Iterator[subprocess.Popen[str]]:
    """A running process; it is killed at the end if it still runs."""
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
    """Settings of a gateway without its services."""
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
    assert (page.status_code, page.json()["errors"][0]["extensions"]["code"]) == (200, "INVALID_ARGUMENT")


@pytest.mark.parametrize("answers", [rest_gateway_answers, graphql_gateway_answers])
def test_a_gateway_serves_without_its_services_until_it_is_stopped(
    answers: Callable[[httpx.Client, str], None], keys: Any, signer: TokenSigner, free_address: str
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
        answers(client, signer.sign(Principal("partner", 1)))
        assert client.get("/healthz").status_code == 200
        running.send_signal(signal.SIGTERM)
        _, said = running.communicate(timeout=LIMIT_S)
    assert (running.returncode, "Traceback" in said) == (0, False), said
