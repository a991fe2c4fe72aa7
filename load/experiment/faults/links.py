"""Faults on a link between two components, or between a service and its database, caused by a Toxiproxy there."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from experiment.errors import UsageError
from experiment.faults.strike import LASTS_S, Around, Strike, Wait, files_of
from experiment.generator.shopload import stop
from mesh.components.shop_processes import SCHEMES, TRIAL_DATABASE, role_name
from mesh.description.ports import HOST
from mesh.description.switches import Switches
from mesh.description.topology import Topology, port_name
from mesh.native.system import System
from mesh.paths import ROOT
from mesh.supervisor.processes import guard
from mesh.supervisor.readiness import accepts

BINARY = ROOT / ".tools" / "bin" / "toxiproxy-server"
DATABASE = "database"
START_S = 10.0
ANSWER_S = 5.0
POLL_S = 0.01
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Ignores the proxies that the environment names: Toxiproxy is on this machine."""


def no_toxiproxy() -> str:
    """Returns how to get Toxiproxy if it is not built, and an empty string otherwise."""
    return "" if BINARY.is_file() else "Toxiproxy: run `make toxiproxy`"


def links_of(topology: Topology, switches: Switches) -> Sequence[str]:
    """Returns the links, such as `order-payment`, and each service's link to its database; none with sidecars."""
    if switches.meshed:
        return []
    calls = [f"{caller}-{callee}" for caller, callees in topology.links.items() for callee in callees]
    return [*calls, *(f"{service}-{DATABASE}" for service in topology.services if switches.store == "postgres")]


def link_fault(toxic: str, attributes: Mapping[str, int]) -> Around:
    """Makes a fault that applies one of Toxiproxy's toxics to a link."""

    @contextmanager
    def around(system: System, target: str) -> Iterator[tuple[System, Strike]]:
        caller, variable, url = _address(system, target)
        parts = urlsplit(url)
        before, at, hosts = parts.netloc.rpartition("@")
        with _toxiproxy(files_of(system) / "toxiproxy.log") as proxy:
            through = {f"link-{place}": upstream for place, upstream in enumerate(hosts.split(","), start=1)}
            listening = [proxy.add(name, upstream) for name, upstream in through.items()]
            replaced = urlunsplit(parts._replace(netloc=f"{before}{at}{','.join(listening)}"))

            def strike(wait: Wait) -> None:
                with proxy.poison(through, toxic, attributes):
                    wait(LASTS_S)

            yield system.with_settings({caller: {variable: replaced}}), strike

    return around


def _address(system: System, target: str) -> tuple[str, str, str]:
    """Returns the caller on a link, the setting that holds the callee's address, and the setting's value."""
    topology = system.topology
    for caller, callees in topology.links.items():
        for callee, protocol in callees.items():
            if target == f"{caller}-{callee}":
                reached = ",".join(map(str, system.ports.endpoints(port_name(callee, protocol))))
                return caller, f"SHOP_PEER_{callee.upper()}", f"{SCHEMES[protocol]}://{reached}"
    service = target.removesuffix(f"-{DATABASE}")
    return service, "SHOP_DATABASE_URL", system.database.url(role_name(service), TRIAL_DATABASE)


class _Toxiproxy:
    """A running Toxiproxy, controlled over HTTP (see "HTTP API" in its README)."""

    def __init__(self, url: str) -> None:
        self._url = url

    def add(self, name: str, upstream: str) -> str:
        """Adds a proxy in front of an address, and returns the proxy's address."""
        made = self._ask("POST", "/proxies", {"name": name, "listen": f"{HOST}:0", "upstream": upstream})
        return str(made["listen"])

    @contextmanager
    def poison(self, names: Mapping[str, str], toxic: str, attributes: Mapping[str, int]) -> Iterator[None]:
        """Applies a toxic to both directions of the named links while the context lasts."""
        added = [(name, stream) for name in names for stream in ("upstream", "downstream")]
        for name, stream in added:
            settings = {"name": stream, "type": toxic, "stream": stream, "attributes": dict(attributes)}
            self._ask("POST", f"/proxies/{name}/toxics", settings)
        try:
            yield
        finally:
            for name, stream in added:
                self._ask("DELETE", f"/proxies/{name}/toxics/{stream}", None)

    def _ask(self, method: str, path: str, body: Any) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data=data, method=method)  # noqa: S310 - our own process
        with _DIRECT.open(request, timeout=ANSWER_S) as answer:
            text = answer.read()
        return json.loads(text) if text else None


@contextmanager
def _toxiproxy(file: Path) -> Iterator[_Toxiproxy]:
    with closing(socket.create_server((HOST, 0))) as free:
        port = free.getsockname()[1]
    with file.open("wb") as log:
        command = guard([str(BINARY), "-host", HOST, "-port", str(port)], signal.SIGKILL)
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)  # noqa: S603 - a pinned tool
        try:
            listening, give_up_at = accepts(port), time.monotonic() + START_S
            while not listening():
                if process.poll() is not None or time.monotonic() > give_up_at:
                    raise UsageError(f"Toxiproxy did not start; see {file}")
                time.sleep(POLL_S)
            yield _Toxiproxy(f"http://{HOST}:{port}")
        finally:
            stop(process)
