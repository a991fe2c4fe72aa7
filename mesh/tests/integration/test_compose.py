"""The committed Compose file starts a shop that sells, leaves traces, keeps its orders, and can be removed."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml
from stand_ins import needs_kong
from stand_ins.containers import IMAGE_PREFIX, IMAGE_TAG, image, needs_containers
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from mesh.compose import FILE, FOLDER
from mesh.description.topology import EDGE, GATEWAYS, load_topology
from mesh.edge import kong
from mesh.edge.plan import EdgePlan
from mesh.kubernetes.manifests.edge import KONG_FILE
from mesh.kubernetes.places import ClusterPlaces
from mesh.paths import ROOT
from mesh.paths import kong as kong_program

SERVICES = load_topology("hybrid").services
SERVERS = ["postgres", "jaeger", *SERVICES, *GATEWAYS, EDGE]
CUSTOMER = {"email": "user8100@example.com", "password": "hopwise-demo"}
# Lines of /proc/1/status: no capabilities, and no way to gain any.
WITHOUT_PRIVILEGE = ["Uid:\t65532\t65532\t65532\t65532", "CapEff:\t0000000000000000", "NoNewPrivs:\t1"]


class Project:
    def __init__(self) -> None:
        self.name = f"hopwise-test-{os.getpid()}"
        edge, jaeger = free_port(), free_port()
        self.edge, self.jaeger = f"http://127.0.0.1:{edge}", f"http://127.0.0.1:{jaeger}"
        self._environ = {
            **os.environ,
            "IMAGE_PREFIX": IMAGE_PREFIX,
            "IMAGE_TAG": IMAGE_TAG,
            "JAEGER_IMAGE": image("jaeger"),
            "EDGE_PORT": str(edge),
            "JAEGER_PORT": str(jaeger),
        }

    def compose(self, *arguments: str) -> None:
        program = Path(sys.executable).with_name("podman-compose")
        argv = [str(program), "--file", str(ROOT / FILE), "--project-name", self.name, *arguments]
        done = subprocess.run(argv, env=self._environ, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr

    def podman(self, *arguments: str) -> str:
        done = subprocess.run(["podman", *arguments], capture_output=True, text=True, check=True, timeout=60)
        return done.stdout

    def find_leftovers(self) -> list[str]:
        chosen = ["--filter", f"label=io.podman.compose.project={self.name}"]
        return [
            *self.podman("ps", "--all", "--quiet", *chosen).split(),
            *self.podman("volume", "ls", "--quiet", *chosen).split(),
            *self.podman("network", "ls", "--quiet", *chosen).split(),
        ]

    def inside(self, service: str, *command: str) -> str:
        """Runs a command in a service's container; returns its output."""
        return self.podman("exec", f"{self.name}_{service}_1", *command)

    def up(self) -> None:
        """Starts everything, and waits until customers can log in."""
        self.compose("up", "--detach")
        for ask in until(httpx.HTTPError):
            with ask:
                self.login()

    def login(self) -> dict[str, str]:
        """Logs a customer in; returns the headers of the customer's requests."""
        session = httpx.post(f"{self.edge}/v1/sessions", json=CUSTOMER, timeout=10).raise_for_status().json()
        return {"authorization": f"Bearer {session['token']}"}


@pytest.fixture(scope="module")
def project() -> Iterator[Project]:
    """The running project; it is removed at the end."""
    project = Project()
    try:
        project.up()
        yield project
    finally:
        project.compose("down", "--volumes")
        assert project.find_leftovers() == []


def until(*errors: type[Exception]) -> Retrying:
    """Retries an action after these errors, for at most a minute."""
    return Retrying(
        retry=retry_if_exception_type(errors), stop=stop_after_delay(60), wait=wait_fixed(0.5), reraise=True
    )


def free_port() -> int:
    """Returns a port of this machine that nothing listens on. Other tests use port bases of whole runs."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@needs_containers
def test_a_checkout_is_sold_traced_logged_and_kept(project: Project) -> None:
    client = {**project.login(), "idempotency-key": str(uuid.uuid4())}
    wanted = {"user_id": 8100, "lines": [{"product_id": 8101, "quantity": 1}], "payment_token": "tok_ok"}
    # A service that has just started may not reach the next service yet.
    for ask in until(httpx.HTTPStatusError):
        with ask:
            trace_id = secrets.token_hex(16)
            traced = {**client, "traceparent": f"00-{trace_id}-{secrets.token_hex(8)}-01"}
            sold = httpx.post(f"{project.edge}/v1/orders", json=wanted, headers=traced, timeout=10).raise_for_status()
    order = sold.json()
    assert (sold.status_code, order["status"]) == (201, "CONFIRMED")

    for ask in until(AssertionError, httpx.HTTPError):
        with ask:
            answer = httpx.get(f"{project.jaeger}/api/traces/{trace_id}", timeout=10).raise_for_status()
            left = answer.json()["data"][0]["processes"].values()
            assert {process["serviceName"] for process in left} == {EDGE, "rest-gateway", *SERVICES}
            logged = [json.loads(line) for line in project.podman("logs", f"{project.name}_edge_1").splitlines()]
            assert [row["status"] for row in logged if trace_id in (row["traceparent"] or "")] == [201]

    project.compose("down")
    project.up()
    for ask in until(httpx.HTTPStatusError):
        with ask:
            again = httpx.get(f"{project.edge}/v1/orders/{order['id']}", headers=client, timeout=10).raise_for_status()
    assert again.json()["lines"] == order["lines"], "neither the order nor the key of the token outlived a restart"


@needs_containers
@pytest.mark.parametrize("service", SERVERS)
def test_no_process_has_a_privilege(project: Project, service: str) -> None:
    status = project.inside(service, "cat", "/proc/1/status").splitlines()
    assert set(WITHOUT_PRIVILEGE) <= set(status)
    (root,) = [line for line in project.inside(service, "cat", "/proc/mounts").splitlines() if line.split()[1] == "/"]
    assert "ro" in root.split()[3].split(",")


@needs_containers
@pytest.mark.parametrize("service", [service for service in SERVERS if service != "jaeger"])
def test_every_server_is_healthy(project: Project, service: str) -> None:
    project.podman("healthcheck", "run", f"{project.name}_{service}_1")


@needs_containers
@pytest.mark.parametrize("service", SERVERS)
def test_only_the_user_service_has_the_key_that_signs(project: Project, service: str) -> None:
    listed = project.inside(service, "bash", "-c", "ls /var/lib/hopwise/secrets/* 2>/dev/null || true")
    assert ("jwt-private.pem" in listed) == (service == "user")


@needs_containers
def test_a_container_reaches_only_its_own_networks(project: Project) -> None:
    networks = json.loads(project.podman("inspect", f"{project.name}_postgres_1"))[0]["NetworkSettings"]["Networks"]
    (address,) = [network["IPAddress"] for network in networks.values()]
    port = ClusterPlaces().listens("postgres").port
    dial = "timeout 3 bash -c 'exec 3<>/dev/tcp/{}/{}' 2>/dev/null && echo open || echo closed"
    for service in (EDGE, *GATEWAYS):
        assert project.inside(service, "bash", "-c", dial.format(address, port)).strip() == "closed", service
    for service in SERVICES:
        assert project.inside(service, "bash", "-c", dial.format("postgres", port)).strip() == "open", service


@needs_kong
def test_kong_takes_its_configuration(tmp_path: Path) -> None:
    plan = EdgePlan(load_topology("hybrid"), ClusterPlaces(), Path("/dev/stdout"))
    command = [str(kong_program(os.environ)), "config", "parse", str(ROOT / FOLDER / KONG_FILE)]
    settings = yaml.safe_load((ROOT / FILE).read_text())["services"]["edge-kong"]["environment"]
    assert kong.settings(plan).items() <= {name: value.replace("$$", "$") for name, value in settings.items()}.items()
    environ = {**os.environ, **kong.settings(plan), "KONG_PREFIX": str(tmp_path / "kong")}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
