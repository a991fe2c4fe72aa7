"""A topology that runs on this machine."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from mesh.components.database import POSTGRES, Database, database, postgres_components, require_external
from mesh.components.jaeger import SpanCounts, jaeger_component, jaeger_ports, span_counts
from mesh.components.keys import key_pair
from mesh.components.shop_processes import (
    DATABASE_TASK,
    GATEWAY_RANK,
    SERVICE_RANK,
    TRIAL_DATABASE,
    Data,
    Surroundings,
    database_task,
    shop_component,
)
from mesh.components.span_accounts import SpanAccount, span_accounts
from mesh.description.places import Places
from mesh.description.ports import Ports
from mesh.description.switches import HTTP3, Switches
from mesh.description.topology import EDGE, GATEWAYS, Protocol, Topology, port_name
from mesh.edge.component import ACCESS_LOG, edge_component
from mesh.edge.kong import require_kong
from mesh.edge.plan import edge_plan
from mesh.errors import ComponentDiedError, SwitchError
from mesh.paths import RunFolder
from mesh.sidecars.stats import SidecarFacts, read_facts
from mesh.sidecars.workloads import workloads
from mesh.supervisor.process_record import lock_holder, write_json
from mesh.supervisor.processes import Component
from mesh.supervisor.run import Run

if TYPE_CHECKING:
    from mesh.istio.mesh import IstioMesh
    from mesh.sidecars.certificates import Certificate

PAGES = {Protocol.GRAPHQL: ("GraphiQL", "/graphql"), Protocol.REST: ("Swagger UI", "/docs")}
"""The page that a component has for each protocol that it serves, and its path."""


class System(Run):
    """Everything of one trial: database, trace store, services, gateways, edge. Use it in a `with` statement.

    Args:
        topology: Which components run, and which calls which.
        switches: The switches that it runs with.
        ports: Ports of the run.
        trial: Name of the trial; every span carries it.
        data: The data that the run begins with; by default, the switches' scale and seed 1.
        environ: `DATABASE_URL`, `JAEGER_BIN` and `KONG_BIN` are read from it; by default, the process's environment.
        extra: More settings, by component.
        folder: Folder of the run; by default, `.run/<base>`.

    Raises:
        SwitchError: The topology cannot run with these switches.
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
        if not switches.in_cluster:  # there, replicas are pods behind the one address of their service
            ports = replace(ports, replicas=switches.replicas)
        super().__init__(ports, folder or RunFolder.of(ports.base))
        require_fit(topology, switches)
        self.topology = topology
        self.switches = switches
        self.trial = trial
        self._data = data or Data(scale=switches.scale)
        self._environ = os.environ if environ is None else environ
        self._extra = extra or {}
        self._has_edge = switches.edge != "none"
        self.database = database(ports, self._environ, self.folder)
        own_mesh = switches.meshed and not switches.in_cluster
        self.workloads = workloads(topology, ports, self.folder, canary=switches.canary > 0) if own_mesh else ()
        self._istio: IstioMesh | None = None
        self._certificate: Certificate | None = None

    @property
    def database_name(self) -> str:
        """Name of the trial's database on `self.database`'s server."""
        return TRIAL_DATABASE

    @property
    def target(self) -> Path:
        """File that names the load generator's target."""
        return self.folder.target

    @property
    def url(self) -> str:
        """Where clients reach the topology: the edge, or without one the first channel's gateway."""
        return self._entrance(next(iter(self.topology.entry.values())))

    @property
    def ca_certificate(self) -> Path | None:
        """File of the certificate that clients must trust to reach the edge; None without TLS."""
        return None if self._certificate is None else self._certificate.trusted

    @property
    def urls(self) -> dict[str, str]:
        """What people open in a browser, by what it is."""
        urls = {}
        for service, protocol in self.topology.exposed.items():
            # With a mesh, nobody but its sidecar reaches a service.
            if protocol in PAGES and not self.workloads:
                title, path = PAGES[protocol]
                urls[f"{title} of {service}"] = self.ports.url(port_name(service, protocol)) + path
        for gateway in self.topology.gateways:
            title, path = PAGES[GATEWAYS[gateway]]
            urls[title] = self._entrance(gateway) + path
        urls["Jaeger"] = self.ports.url("jaeger-query-http")
        return urls

    @property
    def commands(self) -> dict[str, str]:
        """Commands by which the proxies tell the run's user about themselves, by what they tell."""
        sockets = {"Envoy admin": self.folder.admin_socket(EDGE)} if self.switches.edge == "envoy" else {}
        sockets |= {f"{workload.sidecar} admin": workload.admin for workload in self.workloads}
        return {
            title: f"curl --unix-socket {shlex.quote(str(socket))} http://envoy/stats"
            for title, socket in sockets.items()
        }

    @property
    def in_words(self) -> str:
        """What is started, for people: `database, Jaeger, services, gateways, edge`."""
        parts = ["database", "Jaeger", "services"]
        parts += ["gateways"] if self.topology.gateways else []
        parts += ["edge"] if self._has_edge else []
        parts += ["sidecars"] if self.workloads else []
        parts += ["istiod"] if self.switches.mesh == "istio" else []
        return ", ".join(parts)

    @property
    def edge_log(self) -> Path | None:
        """The edge's access log, complete once the edge has stopped; None without an edge."""
        return self.logs / ACCESS_LOG if self._has_edge else None

    def span_counts(self) -> SpanCounts:
        """Counts of the spans that have reached Jaeger since it started."""
        return span_counts(self.ports)

    def span_accounts(self) -> dict[str, SpanAccount]:
        """What the shop's processes last said of their spans, by name; complete once they have stopped."""
        return span_accounts(self.folder)

    def spans_lost(self) -> int:
        """Spans that the shop's processes never got to Jaeger, by their own count; complete once they have stopped."""
        return sum(account.lost for account in self.span_accounts().values())

    def sidecar_facts(self) -> SidecarFacts | None:
        """What the sidecars say of themselves now; None without a mesh."""
        if not self.workloads:
            return None
        return read_facts(self.workloads, encrypted=self.switches.encrypted)

    def node_of(self, component: str) -> str:  # noqa: ARG002 - a cluster has several
        """The node of a cluster that a component runs on; empty on this machine, or if it runs on several."""
        return ""

    def port_names(self) -> Sequence[str]:
        topology = self.topology
        shop = [port_name(name, protocol) for name in topology.components for protocol in topology.protocols_of(name)]
        return [
            *([EDGE] if self._has_edge else []),
            *([] if self.workloads else shop),
            *_database_ports(self.database),
            *jaeger_ports(self.ports),
            *(["istiod-xds", "istiod-http"] if self.switches.mesh == "istio" else []),
        ]

    def require_free(self) -> None:
        super().require_free()
        if self.switches.http == HTTP3:
            self.ports.require_free([EDGE], udp=True)
        for workload in self.workloads:
            own = [port_name(workload.service, inbound.protocol) for inbound in workload.inbound]
            self.ports.require_free(own, at=workload.address)

    def ended(self) -> list[ComponentDiedError]:
        # Asked again and again while a run is watched.
        if self._istio is not None:
            self._istio.renew_tokens()
        return super().ended()

    def stop_serving(self) -> None:
        """Stops gateways and services, which send their last spans as they stop.

        Edge and sidecars send theirs at intervals, and drop what is left if they are stopped: they stay with the trace
        store until their spans have been read, as does the database, which is audited.
        """
        self.stop_ranks((GATEWAY_RANK, SERVICE_RANK))

    def components(self) -> Sequence[Component]:
        keys = key_pair(self.folder)
        if self.switches.tls == "on":
            # Certificates take a moment to import, which a run without TLS need not wait for.
            from mesh.edge.certificate import edge_certificate

            self._certificate = edge_certificate(self.folder)
        around = Surroundings(
            self.topology,
            self.ports,
            self.database,
            keys,
            self.trial,
            self._extra,
            self.switches.store,
            # Where there are sidecars, those of the callers delay the calls.
            {} if self.workloads else self.switches.delay_ms,
            {workload.name: workload for workload in self.workloads},
            encrypted=self.switches.encrypted,
            telemetry=self.folder.telemetry,
        )
        write_json(self.target, self._target(str(keys.private), self.ports))
        store = _database_components(self.database, self.folder, self.ports)
        return [
            *store,
            database_task(self.database, self._data, after=frozenset(item.name for item in store)),
            jaeger_component(self.ports, self._environ),
            *(shop_component(name, around, frozenset({DATABASE_TASK}), replica) for name, replica in self._replicas()),
            *self._sidecars(),
            *([self._edge()] if self._has_edge else []),
        ]

    def _replicas(self) -> Sequence[tuple[str, int]]:
        """Every process of the shop: its component, and its number among the component's replicas."""
        if self.workloads:
            return [(workload.component, workload.replica) for workload in self.workloads if workload.inbound]
        return [(name, replica) for name in self.topology.components for replica in self.ports.replicas_of(name)]

    def _edge(self) -> Component:
        sidecar = next((workload for workload in self.workloads if workload.name == EDGE), None)
        plan = edge_plan(
            self.topology,
            self.ports,
            self.logs / ACCESS_LOG,
            sidecar,
            plugins=self.switches.plugins,
            jwt_public_key=key_pair(self.folder).public.read_text(),
            certificate=self._certificate,
            quic=self.switches.http == HTTP3,
        )
        return edge_component(self.switches.edge, plan, self.folder, self._environ)

    def _sidecars(self) -> Sequence[Component]:
        if not self.workloads:
            return []
        # Certificates take a moment to import, which a run without a mesh need not wait for.
        from mesh.sidecars.certificates import authority, issue_all
        from mesh.sidecars.static import StaticMesh

        if self.switches.mesh == "istio":
            from mesh.istio.mesh import IstioMesh

            self._istio = IstioMesh(self.workloads, self.topology, self.ports, self.switches, self.folder)
            return self._istio.components(authority(self.folder, self._environ))
        certificates = {}
        if self.switches.encrypted:
            certificates = issue_all(authority(self.folder, self._environ), self.workloads, self.folder)
        return StaticMesh(self.workloads, self.ports, self.switches, certificates).components(self.folder)

    def _target(self, private_key: str, places: Places) -> dict[str, Any]:
        entry = {
            channel.value: {"protocol": self.topology.client_speaks(channel), "url": self._entrance(entered, places)}
            for channel, entered in self.topology.entry.items()
        }
        return {
            "topology": self.topology.name,
            "trial": self.trial,
            "http": self.switches.http,
            **({} if self.ca_certificate is None else {"ca_certificate": str(self.ca_certificate)}),
            "connections": self.switches.connections,
            "plan": self.topology.plan.value,
            **_network(self.switches),
            "entry": entry,
            "otlp": str(places.reached("jaeger-otlp-grpc")[0]),
            "jwt_private_key": private_key,
        }

    def _entrance(self, entered: str, places: Places | None = None) -> str:
        """Where a channel's clients send their requests: to the edge, or without one to the channel's gateway."""
        return f"{self.switches.scheme}://{(places or self.ports).reached(EDGE if self._has_edge else entered)[0]}"


def _network(switches: Switches) -> dict[str, Any]:
    """What lies between customers and edge, as the load generator reads it; empty if nothing is emulated."""
    if not switches.emulates_network:
        return {}
    if switches.networks:
        networks = {channel: network.as_target() for channel, network in switches.networks.items()}
        return {"networks": networks, "visit": switches.visit}
    return {**switches.customers_network.as_target(), "visit": switches.visit}


def require_fit(topology: Topology, switches: Switches) -> None:
    """Checks that a topology can run with these switches.

    Raises:
        SwitchError: It cannot; the message has the reason, and what it can run with.
    """
    if switches.edge == "none" and not topology.entered_by_gateways:
        raise SwitchError(
            f"edge=none: {topology.name} has clients that reach services without a gateway, whose requests the edge "
            "must route and mark as coming from outside; valid with it: "
            f"{'envoy' if topology.transcodes else 'envoy, kong'}."
        )
    if switches.edge == "kong":
        require_kong(topology)
    if switches.http == HTTP3 and topology.speaks_grpc_only:
        raise SwitchError(
            f"http=3: the clients of {topology.name} speak gRPC only, which always has HTTP/2; valid with it: 1, 2."
        )
    for name, given in (
        ("delay", switches.delay_ms),
        ("abort", switches.abort_share),
        ("replicas", switches.replicas),
    ):
        if idle := sorted(set(given) - set(topology.components)):
            raise SwitchError(
                f"{name}={','.join(idle)}: {topology.name} does not run {' and '.join(idle)}; "
                f"it runs {', '.join(topology.components)}."
            )


def database_run(db: Database, ports: Ports, folder: RunFolder) -> Run:
    """A run of the database alone.

    Args:
        db: The database.
        ports: Ports of the run.
        folder: Folder of the run.
    """
    return Run(ports, folder, _database_ports(db), lambda: _database_components(db, folder, ports))


@contextmanager
def open_database(ports: Ports, environ: Mapping[str, str] | None = None) -> Iterator[Database]:
    """The database of a port base: the one that runs there now, else one that runs as long as the context lasts.

    Args:
        ports: Ports of the run.
        environ: `DATABASE_URL` is read from it; by default, the process's environment.

    Yields:
        The database.
    """
    folder = RunFolder.of(ports.base)
    db = database(ports, os.environ if environ is None else environ, folder)
    with nullcontext() if lock_holder(folder) is not None else database_run(db, ports, folder):
        yield db


def _database_ports(db: Database) -> Sequence[str]:
    return [POSTGRES] if db.embedded else []


def _database_components(db: Database, folder: RunFolder, ports: Ports) -> list[Component]:
    if db.embedded:
        return postgres_components(folder, ports)
    require_external(db)
    return []


def trial_database_url(system: System) -> str:
    """The administrator's URL of the trial's own database."""
    parts = urlsplit(system.database.admin_url)
    return urlunsplit((parts.scheme, parts.netloc, f"/{system.database_name}", parts.query, ""))
