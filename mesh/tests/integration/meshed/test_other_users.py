"""Another local user of the machine gets only what the table of ports allows from a running shop."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from mesh.components.postgres_owner import STATE
from mesh.components.prometheus import PROMETHEUS
from mesh.components.shop_processes import role_passwords
from mesh.description.topology import EDGE, GATEWAYS, SERVICES, Protocol, metrics_port, port_name
from mesh.edge.component import ACCESS_LOG
from mesh.edge.plugins import PLUGIN_LOG
from mesh.istio.agents import TRUSTED, agent_folder, token_file
from mesh.native.system import System

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user: nobody has tried what one gets"),
]

STRANGER = Path(__file__).with_name("stranger.py")
NOBODY = 65534
TOKEN = "token-of-a-customer-7d1f"
Place = tuple[str, int]


@dataclass(frozen=True)
class Surface:
    """What a port gives to any caller.

    Attributes:
        gets: Description of what the port gives.
        pages: The admin pages that the port serves; none of them has personal data.
        is_closed: Whether the port gives no answer to unauthenticated callers.
        at_any_path: Whether the port answers at every path.
    """

    gets: str
    pages: frozenset[str] = frozenset()
    is_closed: bool = False
    at_any_path: bool = False


def surfaces(*, encrypted: bool) -> Mapping[tuple[str, str], Surface]:
    """Returns the ports that a run may listen on, by owner and name; any other port is a mistake."""
    inside = Surface("what a caller inside gets, without mTLS (ADR 009)")
    sidecar = Surface("nothing without a certificate of the mesh", is_closed=True)
    served = [(name, port_name(name, protocol)) for name in (*GATEWAYS, *SERVICES) for protocol in Protocol]
    sidecars = {(f"{name}-sidecar", port): sidecar for name, port in served}
    counts = Surface("counts and times", frozenset({"GET /stats/prometheus"}))
    return {
        (EDGE, EDGE): Surface("what a customer gets"),
        (EDGE, metrics_port(EDGE)): counts,
        **{(f"{name}-sidecar", metrics_port(name)): counts for name in (EDGE, *GATEWAYS, *SERVICES)},
        **{(name, metrics_port(name)): Surface("the same", at_any_path=True) for name in (*GATEWAYS, *SERVICES)},
        ("postgres-exporter", "postgres-exporter-metrics"): Surface("the same", at_any_path=True),
        ("valkey-exporter", "valkey-exporter-metrics"): Surface("the same", at_any_path=True),
        (PROMETHEUS, PROMETHEUS): Surface("the same, and what Prometheus says of itself", at_any_path=True),
        **(sidecars if encrypted else dict.fromkeys(served, inside)),
        ("postgres", "postgres"): Surface("nothing without a password", is_closed=True),
        ("valkey", "valkey"): Surface("nothing without a password", is_closed=True),
        ("jaeger", "jaeger-otlp-grpc"): Surface("may add spans"),
        ("jaeger", "jaeger-otlp-http"): Surface("may add spans"),
        ("jaeger", "jaeger-query-http"): Surface("may read traces, which hold no personal data"),
        ("jaeger", "jaeger-query-grpc"): Surface("may read traces, which hold no personal data"),
        ("jaeger", "jaeger-health"): Surface("whether Jaeger is well", frozenset({"GET /status"})),
        ("jaeger", "jaeger-metrics"): Surface("counts of spans", frozenset({"GET /metrics"})),
        ("istiod", "istiod-xds"): Surface("nothing without a token or a certificate of the mesh", is_closed=True),
        ("istiod", "istiod-http"): Surface("counts and the version", frozenset({"GET /metrics", "GET /version"})),
    }


@pytest.fixture(scope="module")
def got(shop: System) -> dict[str, Any]:
    pids = [pid for of_component in shop.pids().values() for pid in of_component]
    issued = [agent_folder(workload, shop.folder) / TRUSTED for workload in shop.workloads]
    task = {
        "paths": sorted(map(str, paths(shop, pids))),
        "sockets": sorted(unix_sockets(pids)),
        "pids": pids,
        "listeners": [place for _, place in listening(shop)],
        "trusted": issued[0].read_text() if shop.switches.mesh == "istio" else "",
        "database": shop.ports["postgres"],
        "roles": ["postgres", "nobody", "root", *role_passwords(shop.database)],
    }
    command = [sys.executable, str(STRANGER), str(NOBODY)]
    done = subprocess.run(command, input=json.dumps(task), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def paths(shop: System, pids: Sequence[int]) -> set[Path]:
    """Returns every file and folder of the run, and every file that its processes write to or use as shared memory."""
    folder = shop.folder
    database = folder.postgres.resolve().parent
    tops = [folder.path, folder.sockets, database]
    found = {STATE, database.parent, *(path for top in tops for path in (top, *top.rglob("*")))}
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            found |= {Path(file.path) for file in process.open_files() if file.mode != "r"}
            found |= {Path(memory.path) for memory in process.memory_maps() if memory.path.startswith("/dev/shm")}
    return {path for path in found if path.exists()}


def unix_sockets(pids: Sequence[int]) -> set[str]:
    """Returns all named Unix domain sockets of the run's processes; the name of one without a file begins with `@`."""
    return {str(one.laddr) for one in psutil.net_connections("unix") if one.pid in pids and one.laddr}


def listening(shop: System) -> list[tuple[tuple[str, str], Place]]:
    """Returns owner, name and place of each TCP or UDP port that a process of the run listens on."""
    names = {shop.ports[name]: name for name in shop.ports.offsets}
    owners = {pid: component for component, pids in shop.pids().items() for pid in pids}
    found = set()
    for one in psutil.net_connections("inet"):
        # A UDP socket has no state.
        if one.pid in owners and one.laddr and not one.raddr and one.status in (psutil.CONN_LISTEN, psutil.CONN_NONE):
            name = names.get(one.laddr.port, str(one.laddr.port))
            found.add(((owners[one.pid], name), (one.laddr.ip.removeprefix("::ffff:"), one.laddr.port)))
    return sorted(found)


def test_every_port_is_known_and_at_a_loopback_address(shop: System) -> None:
    found = listening(shop)
    known = surfaces(encrypted=shop.switches.encrypted)
    assert [(owner, place) for owner, place in found if owner not in known] == []
    assert {host for _, (host, _) in found} == {"127.0.0.1", *(one.address for one in shop.workloads)}


def test_a_port_gives_only_what_it_should(shop: System, got: dict[str, Any]) -> None:
    known = surfaces(encrypted=shop.switches.encrypted)
    for owner, (host, port) in listening(shop):
        surface, place = known[owner], f"{host}:{port}"
        pages = {page for page in got["pages"][place] if not (surface.at_any_path and page.startswith("GET "))}
        assert pages == surface.pages, owner
        assert not (surface.is_closed and place in got["open"]), owner
    assert f"127.0.0.1:{shop.ports[EDGE]}" in got["open"]
    assert got["roles"] == []
    shop.check()  # every component still runs


def test_no_file_of_the_run_can_be_opened(got: dict[str, Any]) -> None:
    assert got["opened"] == []


def test_no_socket_takes_a_connection(shop: System, got: dict[str, Any]) -> None:
    sockets = unix_sockets([pid for pids in shop.pids().values() for pid in pids])
    assert len(sockets) >= 1 + 2 * len(shop.workloads)
    assert got["connected"] == []


def test_no_process_shows_a_secret(shop: System, got: dict[str, Any]) -> None:
    secrets = [*role_passwords(shop.database).values(), shop.folder.postgres_password.read_text(), "PRIVATE KEY"]
    if shop.switches.mesh == "istio":
        secrets += [token_file(workload, shop.folder).read_text() for workload in shop.workloads]
    assert any("measured\0order" in line for line in got["command lines"])
    assert [line for line in got["command lines"] if any(secret in line for secret in secrets)] == []
    assert got["looked into"] == []


def test_no_proxy_can_be_made_to_log_tokens(shop: System) -> None:
    proxies = [shop.folder.admin_socket(EDGE), *(workload.admin for workload in shop.workloads)]
    for socket in proxies:
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(socket)), base_url="http://envoy") as owner:
            for page in ("/logging?level=debug", "/logging?paths=http:trace", "/quitquitquit", "/runtime_modify?a=b"):
                assert owner.post(page).status_code == 403, (socket, page)
            assert owner.get("/stats").status_code == 200
    headers = {"authorization": f"Bearer {TOKEN}", "cookie": f"session={TOKEN}"}
    with httpx.Client(base_url=shop.url, headers=headers, trust_env=False) as customer:
        # Envoy writes its logs in blocks of 64 KiB.
        assert {customer.get("/v1/orders/1").status_code for _ in range(600)} == {401}
    logs = {log.name: log.read_text(errors="replace") for log in shop.logs.iterdir()}
    assert all("/v1/orders/1" in logs[name] for name in (ACCESS_LOG, PLUGIN_LOG))
    assert [name for name, text in logs.items() if TOKEN in text] == []
