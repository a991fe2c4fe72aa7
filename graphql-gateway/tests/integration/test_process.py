"""The gateway as a process: how it starts, answers without its services, and stops."""

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
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

pytestmark = pytest.mark.integration


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    key = tmp_path / "jwt.pub.pem"
    public = Ed25519PrivateKey.generate().public_key()
    key.write_bytes(public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    closed = free_port()
    peers = {f"SHOP_PEER_{name}": f"grpc://127.0.0.1:{closed}" for name in ("PRODUCT", "ORDER", "USER", "PAYMENT")}
    return {
        "PATH": os.environ["PATH"],
        "SHOP_COMPONENT": "graphql-gateway",
        "SHOP_LISTEN_HTTP": f"127.0.0.1:{free_port()}",
        "SHOP_JWT_PUBLIC_KEY_FILE": str(key),
        **peers,
    }


@pytest.fixture
def process(environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    started = subprocess.Popen(
        [sys.executable, "-m", "graphql_gateway"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        yield started
    finally:
        started.kill()
        started.communicate(timeout=10)


def wait_until_healthy(process: subprocess.Popen[bytes], url: str) -> None:
    limit = time.monotonic() + 20
    while time.monotonic() < limit:
        assert process.poll() is None, process.communicate()
        try:
            if httpx.get(f"{url}/healthz", timeout=1).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    pytest.fail("the gateway did not become healthy within 20 s")


def test_it_serves_and_stops(process: subprocess.Popen[bytes], environment: dict[str, str]) -> None:
    url = f"http://{environment['SHOP_LISTEN_HTTP']}"
    wait_until_healthy(process, url)

    body = {"query": "{ __typename products { edges { cursor } } }"}
    answer = httpx.post(f"{url}/graphql", json=body, timeout=10).json()
    assert answer["errors"][0]["extensions"]["code"] == "UNAVAILABLE"
    assert httpx.post(f"{url}/graphql", json={"query": "{ __typename }"}).json() == {"data": {"__typename": "Query"}}
    page = httpx.get(f"{url}/graphql", headers={"accept": "text/html"})
    assert (page.status_code, "GraphiQL is not installed" in page.text) == (503, True)

    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=5)
    assert process.returncode == 0, stderr


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("SHOP_LISTEN_HTTP", "", "SHOP_LISTEN_HTTP is not set"),
        ("SHOP_JWT_PUBLIC_KEY_FILE", "", "SHOP_JWT_PUBLIC_KEY_FILE is not set"),
        (
            "SHOP_JWT_PUBLIC_KEY_FILE",
            "/nowhere.pem",
            "SHOP_JWT_PUBLIC_KEY_FILE is '/nowhere.pem', which cannot be used",
        ),
        ("SHOP_PEER_ORDER", "", "SHOP_PEER_ORDER is not set"),
        ("SHOP_PEER_ORDER", "ftp://127.0.0.1:1", "SHOP_PEER_ORDER is 'ftp://127.0.0.1:1'"),
    ],
)
def test_wrong_settings_are_named(environment: dict[str, str], variable: str, value: str, message: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "graphql_gateway"],
        env={**environment, variable: value},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert done.returncode == 2
    assert message in done.stderr


def test_a_port_in_use_is_named(environment: dict[str, str]) -> None:
    host, _, port = environment["SHOP_LISTEN_HTTP"].rpartition(":")
    with socket.create_server((host, int(port))):
        done = subprocess.run(
            [sys.executable, "-m", "graphql_gateway"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    assert done.returncode == 1
    assert environment["SHOP_LISTEN_HTTP"] in done.stderr
