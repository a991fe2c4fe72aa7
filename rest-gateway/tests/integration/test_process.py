"""The process as it is started: settings, HTTP over a socket, services that do not answer, the end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from shop.platform.access.jwt import Principal, TokenSigner

pytestmark = pytest.mark.integration

START_LIMIT_S = 20.0
STOP_LIMIT_S = 10.0


def free_ports(count: int) -> list[int]:
    """Returns ports that nobody listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@pytest.fixture
def env(tmp_path: Path, public_pem: bytes) -> dict[str, str]:
    """Settings of a gateway whose services are not there."""
    key = tmp_path / "public.pem"
    key.write_bytes(public_pem)
    listen, *peers = free_ports(5)
    names = ("PRODUCT", "ORDER", "USER", "PAYMENT")
    return {
        "PATH": os.environ["PATH"],
        "SHOP_COMPONENT": "rest-gateway",
        "SHOP_LISTEN_HTTP": f"127.0.0.1:{listen}",
        "SHOP_JWT_PUBLIC_KEY_FILE": str(key),
        **{f"SHOP_PEER_{name}": f"grpc://127.0.0.1:{port}" for name, port in zip(names, peers, strict=True)},
    }


def start(env: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "rest_gateway"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.fixture
def gateway(env: dict[str, str]) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    process = start(env)
    try:
        with httpx.Client(base_url=f"http://{env['SHOP_LISTEN_HTTP']}", timeout=10) as client:
            wait_until_ready(process, client)
            yield process, client
    finally:
        process.kill()
        process.communicate(timeout=STOP_LIMIT_S)


def wait_until_ready(process: subprocess.Popen[str], client: httpx.Client) -> None:
    end = time.monotonic() + START_LIMIT_S
    while time.monotonic() < end:
        assert process.poll() is None, process.communicate()[1]
        try:
            if client.get("/healthz").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError(f"not ready within {START_LIMIT_S} s")


def test_serves_until_it_is_told_to_stop(
    gateway: tuple[subprocess.Popen[str], httpx.Client], signer: TokenSigner
) -> None:
    process, client = gateway

    assert client.get("/docs").status_code == 200
    assert client.get("/openapi.json").json()["openapi"] == "3.1.0"

    missing = client.get("/v1/products/1", headers={"x-envoy-expected-rq-timeout-ms": "2000"})
    assert missing.status_code == 503, missing.text
    assert missing.json()["code"] == "UNAVAILABLE"

    token = signer.sign(Principal("partner", 1))
    headers = {"authorization": f"Bearer {token}", "x-envoy-expected-rq-timeout-ms": "2000"}
    bulk = client.get("/v1/order-lines", headers=headers)
    assert bulk.status_code == 503, bulk.text

    head = client.head("/docs")
    assert (head.status_code, head.content) == (200, b"")

    json = {"content-type": "application/json"}
    large = client.post("/v1/sessions", content=b" " * 1_000_000, headers=json)
    assert large.status_code == 413
    assert client.get("/healthz").status_code == 200

    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=STOP_LIMIT_S)
    assert process.returncode == 0
    assert "Traceback" not in log, log


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"SHOP_LISTEN_HTTP": ""}, "SHOP_LISTEN_HTTP"),
        ({"SHOP_LISTEN_HTTP": "nowhere"}, "SHOP_LISTEN_HTTP"),
        ({"SHOP_JWT_PUBLIC_KEY_FILE": ""}, "SHOP_JWT_PUBLIC_KEY_FILE"),
        ({"SHOP_JWT_PUBLIC_KEY_FILE": "/nowhere.pem"}, "SHOP_JWT_PUBLIC_KEY_FILE"),
        ({"SHOP_PEER_PAYMENT": ""}, "SHOP_PEER_PAYMENT"),
        ({"SHOP_PEER_PAYMENT": "ftp://127.0.0.1:1"}, "SHOP_PEER_PAYMENT"),
        ({"SHOP_COMPONENT": "gateway"}, "SHOP_COMPONENT"),
    ],
)
def test_a_wrong_setting_is_named(env: dict[str, str], change: dict[str, str], named: str) -> None:
    process = start({**env, **change})
    _, log = process.communicate(timeout=START_LIMIT_S)

    assert process.returncode == 2
    assert log.startswith("error: "), log
    assert named in log
    assert "Traceback" not in log


def test_a_port_in_use_is_named(env: dict[str, str]) -> None:
    host, _, port = env["SHOP_LISTEN_HTTP"].rpartition(":")
    with socket.create_server((host, int(port))):
        process = start(env)
        _, log = process.communicate(timeout=START_LIMIT_S)

    assert process.returncode == 1
    assert env["SHOP_LISTEN_HTTP"] in log
    assert "Traceback" not in log
