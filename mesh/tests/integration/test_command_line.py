"""`python -m mesh`, as people call it."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from mesh.description.ports import Ports

pytestmark = pytest.mark.integration


def mesh(ports: Ports, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mesh", *arguments],
        env={**os.environ, "SHOP_PORT_BASE": str(ports.base), **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--topology", "hybird"], "topology=hybird is unknown. Valid: graphql,"),
        (["--topology", "no/such.yaml", "--detach"], "no/such.yaml: there is no such file"),
        (["--edge", "nginx"], "edge=nginx is unknown; valid: envoy, kong, none"),
        (["--mesh", "linkerd", "--detach"], "mesh=linkerd is unknown; valid: none, envoy, istio"),
        (["--mtls", "on"], "mtls=on needs a mesh"),
        (["--scale", "many"], "scale=many: must be an integer from 1 to 100"),
        (
            ["--topology", "rest", "--edge", "none", "--http", "1"],
            "edge=none: rest has clients that reach services",
        ),
    ],
)
def test_bad_input(ports: Ports, arguments: list[str], message: str) -> None:
    answer = mesh(ports, "up", *arguments)
    assert answer.returncode != 0
    assert message in answer.stderr
    assert "Traceback" not in answer.stderr


def test_bad_base(ports: Ports) -> None:
    answer = mesh(ports, "up", SHOP_PORT_BASE="80")
    assert answer.returncode == 2
    assert "SHOP_PORT_BASE=80: must be an integer from 1024 to 65336" in answer.stderr


def test_broken_yaml(ports: Ports, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("name: mine\nentry: {web: graphql-gateway\n")
    answer = mesh(ports, "up", "--topology", str(file))
    assert answer.returncode == 2
    assert f"{file}:3: not valid YAML" in answer.stderr


def test_missing_jaeger(ports: Ports) -> None:
    answer = mesh(ports, "up", JAEGER_BIN="/no/such/jaeger")
    assert answer.returncode == 1
    assert "JAEGER_BIN=/no/such/jaeger is not a file" in answer.stderr


def test_port_in_use(ports: Ports) -> None:
    with socket.create_server(("127.0.0.1", ports["order-grpc"])):
        answer = mesh(ports, "up", "--detach")
    assert answer.returncode == 1
    assert f"{ports['order-grpc']} (order-grpc): process {os.getpid()}" in answer.stderr


def test_nothing_runs(ports: Ports) -> None:
    assert f"Nothing is running on port base {ports.base}." in mesh(ports, "down").stdout
    assert f"Nothing is running on port base {ports.base}." in mesh(ports, "status").stdout
    assert json.loads(mesh(ports, "status", "--json").stdout) == {"state": None, "components": []}


def test_topologies(ports: Ports) -> None:
    assert "hybrid" in json.loads(mesh(ports, "topologies", "--json").stdout)


def test_up_status_up_again_down(shop_ports: Ports) -> None:
    up = mesh(shop_ports, "up", "--detach", "--json")
    try:
        assert up.returncode == 0, up.stderr
        state = json.loads(up.stdout)
        assert state["topology"] == "hybrid"
        assert state["edge"] == shop_ports.url("edge")
        assert set(state["urls"]) == {"Start page", "GraphiQL", "Swagger UI", "Jaeger"}
        assert "hybrid" in httpx.get(state["urls"]["Start page"], trust_env=False).text
        *_, socket_file, url = shlex.split(state["commands"]["Envoy admin"])
        with httpx.Client(transport=httpx.HTTPTransport(uds=socket_file)) as client:
            assert "cluster.rest-gateway." in client.get(url).text
        for title, wanted in (("GraphiQL", "graphiql.js"), ("Swagger UI", "swagger-ui-bundle.js")):
            page = httpx.get(state["urls"][title], headers={"accept": "text/html"}, trust_env=False)
            (script,) = re.findall(rf'src="(/[^"]*/{wanted})"', page.text)
            assert httpx.get(shop_ports.url("edge") + script, trust_env=False).status_code == 200
        status = json.loads(mesh(shop_ports, "status", "--json").stdout)
        assert {row["component"] for row in status["components"]} >= {"postgres", "order", "rest-gateway", "edge"}
        assert all(row["running"] for row in status["components"])
        again = mesh(shop_ports, "up", "--detach")
        assert again.returncode == 1
        assert "already has a run" in again.stderr
        assert json.loads(mesh(shop_ports, "status", "--json").stdout)["state"] == state
    finally:
        down = mesh(shop_ports, "down")
    assert down.stdout.startswith("Stopped ")
    shop_ports.require_free(shop_ports.offsets)


@pytest.mark.parametrize("after_s", [0.3, 1.0, 2.0])
def test_ctrl_c_while_it_starts(ports: Ports, after_s: float) -> None:
    up = subprocess.Popen(
        [sys.executable, "-m", "mesh", "up", "--detach"],
        env={**os.environ, "SHOP_PORT_BASE": str(ports.base)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(after_s)
    up.send_signal(signal.SIGINT)
    _, err = up.communicate(timeout=60)
    assert up.returncode in (130, -signal.SIGINT)
    assert "Nothing is running" in mesh(ports, "status").stdout
    ports.require_free(ports.offsets)
    assert "Traceback" not in err
