"""A topology that runs on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from mesh.database import POSTGRES, Database, database, postgres_components, require_external
from mesh.envoy import ACCESS_LOG, EDGE, envoy_component
from mesh.errors import SwitchError
from mesh.jaeger import PORTS as JAEGER_PORTS
from mesh.jaeger import SpanCounts, jaeger_component, span_counts
from mesh.keys import key_pair
from mesh.paths import RunFolder
from mesh.ports import Ports
from mesh.process_record import lock_holder, write_json
from mesh.processes import Component
from mesh.run import Run
from mesh.shop_processes import CLONE, TRIAL_DATABASE, Data, Surroundings, database_tasks, port_name, shop_component
from mesh.switches import Switches
from mesh.topology import Protocol, Topology


class System(Run):
    """Everything of one trial: database, trace store, services, gateways, edge. Use it in a `with` block.

    Args:
        topology: who runs, and who calls whom.
        switches: how.
        ports: where.
        trial: the run's name; every span carries it.
        data: which data the run begins with; the switches' scale and seed 1, unless told.
        environ: `DATABASE_URL` and `JAEGER_BIN` are read from it.
        extra: more settings, by component.
        folder: of the run, if not `.run/<base>`.

    Raises:
        SwitchError: the topology cannot run with these switches.
        InputError: DATABASE_URL is not the URL of a PostgreSQL server.
    """

    def __init__(
        self,
        topology: Topology,
        switches: Switches,
        ports: Ports,
        trial: str,
        *,
        data: Data | None = None,
        environ: Mapping[str, str] | None = None,
        extra: Mapping[str, Mapping[str, str]] | None = None,
        folder: RunFolder | None = None,
    ) -> None:
        super().__init__(ports, folder or RunFolder.of(ports.base))
        require_fit(topology, switches)
        self.topology = topology
        self.switches = switches
        self.trial = trial
        self.data = data or Data(scale=switches.scale)
        self._environ = os.environ if environ is None else environ
        self._extra = extra or {}
        self.database = database(ports, self._environ, self.folder)

    @property
    def database_name(self) -> str:
        """The name of the trial's database on `self.database`'s server."""
        return TRIAL_DATABASE

    @property
    def target(self) -> Path:
        """The file that tells the load generator where to send."""
        return self.folder.target

    @property
    def url(self) -> str:
        """Where clients reach the topology: the edge, or without one the first channel's gateway."""
        return self.ports.url(EDGE if self.switches.edge != "none" else self.topology.gateways[0])

    @property
    def urls(self) -> dict[str, str]:
        """What people open in a browser, by what it is."""
        pages = {"graphql-gateway": ("GraphiQL", "/graphql"), "rest-gateway": ("Swagger UI", "/docs")}
        found = {f"Swagger UI of {service}": url for service, url in self._service_documents()}
        for gateway in self.topology.gateways:
            title, path = pages[gateway]
            found[title] = self._base_of(gateway) + path
        found["Jaeger"] = self.ports.url("jaeger-query-http")
        if self.switches.edge == "envoy":
            found["Envoy admin"] = self.ports.url("edge-admin")
        return found

    @property
    def edge_log(self) -> Path | None:
        """The edge's access log, complete once the edge has stopped; None without an edge."""
        return self.logs / ACCESS_LOG if self.switches.edge == "envoy" else None

    def span_counts(self) -> SpanCounts:
        """What Jaeger has done with spans since it started."""
        return span_counts(self.ports)

    def port_names(self) -> list[str]:
        """The ports that must be free before the start."""
        found = [EDGE, "edge-admin"] if self.switches.edge == "envoy" else []
        for component in self.topology.components:
            found += [port_name(component, protocol) for protocol in self.topology.protocols_of(component)]
        return [*found, *([POSTGRES] if self.database.embedded else []), *JAEGER_PORTS]

    def components(self) -> Sequence[Component]:
        """What to run; also writes the files that the components and the generator read."""
        around = Surroundings(
            self.topology,
            self.ports,
            self.database,
            key_pair(self.folder),
            self.trial,
            self._extra,
            self.switches.delay_ms,
        )
        write_json(self.target, self._target(around))
        store = _database_components(self.database, self.folder, self.ports)
        cloned = frozenset({CLONE})
        return [
            *store,
            *database_tasks(self.database, self.data, after=frozenset(item.name for item in store)),
            jaeger_component(self.ports, self._environ),
            *(shop_component(name, around, after=cloned) for name in self.topology.components),
            *([envoy_component(self.topology, self.ports, self.folder)] if self.switches.edge == "envoy" else []),
        ]

    def _base_of(self, gateway: str) -> str:
        return self.ports.url(EDGE if self.switches.edge == "envoy" else gateway)

    def _service_documents(self) -> Iterator[tuple[str, str]]:
        for service, protocol in self.topology.exposed.items():
            if protocol is Protocol.REST:
                yield service, self.ports.url(port_name(service, protocol)) + "/docs"

    def _target(self, around: Surroundings) -> dict[str, Any]:
        entry = {channel.value: {"protocol": self.topology.client_speaks(channel)} for channel in self.topology.entry}
        return {
            "topology": self.topology.name,
            "trial": self.trial,
            "edge": self.url,
            "http": self.switches.http,
            "connections": self.switches.connections,
            "plan": self.topology.plan.value,
            "entry": entry,
            "otlp": self.ports.address("jaeger-otlp-grpc"),
            "jwt_private_key": str(around.keys.private),
        }


def require_fit(topology: Topology, switches: Switches) -> None:
    """Checks that a topology can run with these switches.

    Raises:
        SwitchError: it cannot; says why, and what it can run with.
    """
    entered = sorted(set(topology.entry.values()))
    if switches.edge == "none" and (len(entered) > 1 or not topology.gateways):
        raise SwitchError(
            f"edge=none: {topology.name} is entered at {' and '.join(entered)}, and clients know one address; "
            "valid with it: envoy."
        )
    idle = sorted(set(switches.delay_ms) - set(topology.components))
    if idle:
        raise SwitchError(
            f"delay={','.join(idle)}: {topology.name} does not run {' and '.join(idle)}; "
            f"it runs {', '.join(topology.components)}."
        )


class DatabaseRun(Run):
    """The database alone.

    Args:
        db: where the data are.
        ports: of the run.
        folder: of the run.
    """

    def __init__(self, db: Database, ports: Ports, folder: RunFolder) -> None:
        super().__init__(ports, folder)
        self._database = db

    def port_names(self) -> list[str]:
        """The ports that must be free before the start."""
        return [POSTGRES] if self._database.embedded else []

    def components(self) -> Sequence[Component]:
        """What to run."""
        return _database_components(self._database, self.folder, self.ports)


@contextmanager
def open_database(ports: Ports, environ: Mapping[str, str] | None = None) -> Iterator[Database]:
    """The database of a port base: the one that runs there now, else started for the block.

    Args:
        ports: of the run.
        environ: `DATABASE_URL` is read from it.

    Yields:
        Where the data are.
    """
    folder = RunFolder.of(ports.base)
    db = database(ports, os.environ if environ is None else environ, folder)
    if lock_holder(folder) is not None:
        yield db
        return
    with DatabaseRun(db, ports, folder):
        yield db


def _database_components(db: Database, folder: RunFolder, ports: Ports) -> list[Component]:
    if db.embedded:
        return postgres_components(folder, ports)
    require_external(db)
    return []


def trial_database_url(system: System) -> str:
    """The administrator's URL of the trial's own database."""
    parts = urlsplit(system.database.admin_url)
    return urlunsplit((parts.scheme, parts.netloc, f"/{system.database_name}", parts.query, ""))
