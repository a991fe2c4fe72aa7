"""`python -m mesh`, called as users call it."""

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
from collections.abc import Iterator
from typing import Any

import httpx
import psutil
import pytest
from click.testing import Result
from stand_ins import until
from typer.testing import CliRunner

from mesh.cli import app
from mesh.components.postgres import database
from mesh.components.shop_processes import role_passwords
from mesh.description.ports import Ports
from mesh.paths import RunFolder
from mesh.supervisor.running_state import component_table


def invoke(ports: Ports, *arguments: str, **environ: str) -> Result:
    """Runs a command that starts nothing, in this process."""
    return CliRunner(env={"SHOP_PORT_BASE": str(ports.base), **environ}).invoke(app, arguments)


def mesh(ports: Ports, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    argv, given = [sys.executable, "-m", "mesh", *arguments], {"SHOP_PORT_BASE": str(ports.base), **environ}
    return subprocess.run(argv, env={**os.environ, **given}, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--topology", "hybird"], "topology=hybird is unknown. Valid: connect,"),
        (["--topology", "no/such.yaml", "--detach"], "no/such.yaml: there is no such file"),
        (["--scale", "many"], "scale=many: must be an integer from 1 to 100"),
        (["--topology", "rest", "--edge", "none", "--http", "1"], "edge=none: rest has clients that reach services"),
    ],
)
def test_bad_input(ports: Ports, arguments: list[str], message: str) -> None:
    answer = invoke(ports, "up", *arguments)
    assert answer.exit_code != 0
    assert message in answer.stderr
    assert "Traceback" not in answer.stderr


def test_bad_base(ports: Ports) -> None:
    answer = invoke(ports, "up", SHOP_PORT_BASE="80")
    assert answer.exit_code == 2
    assert "SHOP_PORT_BASE=80: must be an integer from 1024 to 65336" in answer.stderr


def test_missing_jaeger(ports: Ports) -> None:
    answer = invoke(ports, "up", JAEGER_BIN="/no/such/jaeger")
    assert answer.exit_code == 1
    assert "JAEGER_BIN=/no/such/jaeger is not a file" in answer.stderr


def test_port_in_use(ports: Ports) -> None:
    with socket.create_server(("127.0.0.1", ports["order-grpc"])):
        answer = invoke(ports, "up", "--detach")
    assert answer.exit_code == 1
    assert f"{ports['order-grpc']} (order-grpc): process {os.getpid()}" in answer.stderr


def test_nothing_runs(ports: Ports) -> None:
    assert f"Nothing is running on port base {ports.base}." in invoke(ports, "down").stdout
    assert f"Nothing is running on port base {ports.base}." in invoke(ports, "status").stdout
    assert json.loads(invoke(ports, "status", "--json").stdout) == {"state": None, "components": []}


def test_topologies(ports: Ports) -> None:
    assert "hybrid" in json.loads(invoke(ports, "topologies", "--json").stdout)


@pytest.fixture(scope="module")
def up(shop_ports: Ports) -> Iterator[dict[str, Any]]:
    """The output of `up` for a shop that the tests below share."""
    done = mesh(shop_ports, "up", "--detach", "--json")
    try:
        assert done.returncode == 0, done.stderr
        yield json.loads(done.stdout)
    finally:
        down = mesh(shop_ports, "down")
    assert down.stdout.startswith("Stopped ")
    shop_ports.require_free(shop_ports.offsets)


def test_up_status_up_again(shop_ports: Ports, up: dict[str, Any]) -> None:
    assert up["topology"] == "hybrid"
    assert up["edge"] == shop_ports.url("edge")
    assert set(up["urls"]) == {"Start page", "GraphiQL", "Swagger UI", "Jaeger"}
    assert "hybrid" in httpx.get(up["urls"]["Start page"], trust_env=False).text
    *_, socket_file, url = shlex.split(up["commands"]["Envoy admin"])
    with httpx.Client(transport=httpx.HTTPTransport(uds=socket_file)) as client:
        assert "cluster.rest-gateway." in client.get(url).text
    for title, wanted in (("GraphiQL", "graphiql.js"), ("Swagger UI", "swagger-ui-bundle.js")):
        page = httpx.get(up["urls"][title], headers={"accept": "text/html"}, trust_env=False)
        (script,) = re.findall(rf'src="(/[^"]*/{wanted})"', page.text)
        assert httpx.get(shop_ports.url("edge") + script, trust_env=False).status_code == 200
    status = json.loads(mesh(shop_ports, "status", "--json").stdout)
    assert {row["component"] for row in status["components"]} >= {"postgres", "order", "rest-gateway", "edge"}
    assert all(row["running"] for row in status["components"])
    again = mesh(shop_ports, "up", "--detach")
    assert again.returncode == 1
    assert "already has a run" in again.stderr
    assert json.loads(mesh(shop_ports, "status", "--json").stdout)["state"] == up


@pytest.mark.usefixtures("up")
def test_a_shop_that_is_up_outlives_its_components(shop_ports: Ports) -> None:
    folder = RunFolder.of(shop_ports.base)
    for victim in ("order", "postgres", "edge"):
        before = components(folder)[victim]
        os.kill(int(str(before["pid"])), signal.SIGKILL)
        until(lambda: revived(folder, victim, before["pid"]))  # noqa: B023 - it is called at once
        until(lambda: answers(shop_ports))
    assert "order exited during the run, killed by SIGKILL" in (folder.path / "up.log").read_text()
    assert "restarts" in mesh(shop_ports, "status").stdout
    no_secret_is_seen(shop_ports, folder)


@pytest.mark.parametrize("after_s", [0.3, 2.0])
def test_ctrl_c_while_it_starts(ports: Ports, after_s: float) -> None:
    argv, environ = [sys.executable, "-m", "mesh", "up", "--detach"], {**os.environ, "SHOP_PORT_BASE": str(ports.base)}
    pipe = subprocess.PIPE
    up = subprocess.Popen(argv, env=environ, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
    time.sleep(after_s)
    up.send_signal(signal.SIGINT)
    _, err = up.communicate(timeout=60)
    assert up.returncode in (130, -signal.SIGINT)
    assert "Nothing is running" in mesh(ports, "status").stdout
    ports.require_free(ports.offsets)
    assert "Traceback" not in err


def components(folder: RunFolder) -> dict[str, dict[str, object]]:
    return {str(row["component"]): row for row in component_table(folder)}


def revived(folder: RunFolder, name: str, pid: object) -> bool:
    now = components(folder).get(name)
    return now is not None and bool(now["running"]) and now["pid"] != pid and now["restarts"] == 1


def answers(ports: Ports) -> bool:
    query = {"query": "{ products(first: 1) { edges { node { title } } } }"}
    answer = httpx.post(f"{ports.url('edge')}/graphql", json=query, trust_env=False, timeout=10)
    return answer.status_code == 200 and "errors" not in answer.json()


def no_secret_is_seen(ports: Ports, folder: RunFolder) -> None:
    """Checks that neither other users of the machine nor readers of the logs can see the database's passwords."""
    db = database(ports, {}, folder)
    secrets = [folder.postgres_password.read_text(), *role_passwords(db).values()]
    seen = {str(path): path.read_text(errors="replace") for path in folder.path.rglob("*") if path.is_file()}
    del seen[str(folder.postgres_password)]
    for process in psutil.process_iter(["cmdline"]):
        seen[f"process {process.pid}"] = " ".join(process.info["cmdline"] or [])
    assert [where for where, text in seen.items() if any(secret in text for secret in secrets)] == []
