"""A topology that runs on this machine."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mesh.components.edge_cache import (
    LINK,
    NOTIFIES_EDGE_CACHE,
    edge_cache_components,
    edge_cache_counts,
    invalidation_socket,
)
from mesh.components.exporters import OF_POSTGRES, OF_VALKEY, exporter_component
from mesh.components.jaeger import SpanCounts, jaeger_component, jaeger_ports, span_counts
from mesh.components.keys import key_pair
from mesh.components.postgres import database
from mesh.components.prometheus import PROMETHEUS, jobs_of, prometheus_component
from mesh.components.shop_processes import (
    DATABASE_TASK,
    GATEWAY_RANK,
    SERVICE_RANK,
    Data,
    Surroundings,
    database_task,
    shop_component,
)
from mesh.components.telemetry_files import CacheCounts, SpanAccount, cache_counts, span_accounts
from mesh.components.trial import entrance, framed_url, parts_of, require_fit, target_document
from mesh.components.valkey import VALKEY, cache, valkey_components
from mesh.description.places import Place
from mesh.description.ports import Ports
from mesh.description.streams import LASTING
from mesh.description.switches import HTTP3, Switches
from mesh.description.topology import (
    EDGE,
    EDGE_CACHE,
    GATEWAYS,
    Protocol,
    Topology,
    entrance_name,
    metrics_port,
    port_name,
)
from mesh.edge.component import ACCESS_LOG, edge_component
from mesh.edge.plan import EdgePlan
from mesh.errors import ComponentDiedError
from mesh.native.database_run import database_components, database_ports
from mesh.paths import ALERT_RULES, LATEST_RUN, ROOT, RunFolder, prometheus
from mesh.sidecars.stats import SidecarFacts, read_facts
from mesh.sidecars.workloads import Workload, workloads
from mesh.supervisor.open_files import allow
from mesh.supervisor.process_record import write_json
from mesh.supervisor.processes import Component
from mesh.supervisor.run import Run

if TYPE_CHECKING:
    from mesh.istio.mesh import IstioMesh
    from mesh.sidecars.certificates import Certificate

LAST_TRACES = 20
"""How many traces Jaeger lists."""
PAGES = {Protocol.GRAPHQL: ("GraphiQL", "/graphql"), Protocol.REST: ("Swagger UI", "/docs")}
"""For each protocol, the page of a component that serves it, and the page's path."""
UPDATES = {
    Protocol.GRAPHQL: ["subscriptions over WebSockets at /graphql/stream"],
    Protocol.REST: ["server-sent events at /v1/orders/ID/events", "and /v1/users/ID/notifications/events"],
    Protocol.GRPC: ["WatchOrder and WatchNotifications of", "shop.notification.v1.NotificationService"],
}
"""How customers watch their orders, as lines of text, by protocol."""


class System(Run):
    """Everything of one trial: database, trace store, services, gateways, edge. Use it in a `with` statement.

    Args:
        data: The data that the run starts with; by default, the switches' scale and seed 1.
        environ: `DATABASE_URL`, `CACHE_URL`, `JAEGER_BIN`, `KONG_BIN` and `VARNISH_BIN` are read from it; by default,
            the process's environment.
        extra: More settings, by component.
        folder: Folder of the run; by default, `.run/<base>`.
        monitor: Whether Prometheus runs too; needs `metrics=on`.
        interactive: Whether people try out the system: the edge has a start page, and describes its gRPC services.

    Raises:
        NotInstalledError: There is no Prometheus program, or no Varnish.
        SwitchError: The topology cannot run with these switches.
        InputError: DATABASE_URL is not the URL of a PostgreSQL server, or CACHE_URL is not the URL of a Valkey server.
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
        monitor: bool = False,
        interactive: bool = False,
    ) -> None:
        super().__init__(replace(ports, replicas=switches.replicas), folder or RunFolder.of(ports.base))
        require_fit(topology, switches)
        allow(switches.connections)
        self.topology = topology.with_implementations(switches.implementation)
        self.switches = switches
        self.trial = trial
        self._data = data or Data(scale=switches.scale)
        self._environ = os.environ if environ is None else environ
        self._extra = dict(extra or {})
        self.database = database(self.ports, self._environ, self.folder)
        self._cache = None if switches.cache == "none" else cache(self.ports, self._environ, self.database)
        self.workloads: tuple[Workload, ...] = ()
        if switches.meshed:
            self.workloads = workloads(topology, self.ports, self.folder, canary=switches.canary > 0)
        self._prometheus = prometheus(self._environ) if monitor else None
        asked = [OF_POSTGRES, *([OF_VALKEY] if self._cache else [])] if monitor else []
        self._exporters = {exporter: exporter.find(self._environ) for exporter in asked}
        self._interactive = interactive and switches.has_edge
        self._describer = self._grpc_describer() if self._interactive else ""
        self._istio: IstioMesh | None = None
        self._certificate: Certificate | None = None

    def with_settings(self, settings: Mapping[str, Mapping[str, str]]) -> System:
        """The same system, not yet started, with more settings for components, by the components' names."""
        extra = {name: {**self._extra.get(name, {}), **settings.get(name, {})} for name in {*self._extra, *settings}}
        run = (self.topology, self.switches, self.ports, self.trial)
        return System(*run, data=self._data, environ=self._environ, extra=extra, folder=self.folder)

    @property
    def target(self) -> Path:
        return self.folder.target

    @property
    def url(self) -> str:
        """Where clients reach the topology: the edge, or without an edge, the first channel's gateway."""
        return entrance(self.switches, self.ports, next(iter(self.topology.entry.values())))

    @property
    def ca_certificate(self) -> Path | None:
        """File of the certificate that clients must trust to reach the edge; None without TLS."""
        return None if self._certificate is None else self._certificate.trusted

    @property
    def urls(self) -> dict[str, str]:
        """The pages for a browser, by title."""
        urls = {"Start page": f"{self.url}/"} if self._interactive else {}
        for service, protocol in self.topology.exposed.items():
            # With a mesh, only the service's own sidecar reaches a service.
            if protocol is Protocol.THRIFT:
                urls[f"Thrift of {service}"] = framed_url(self.ports, service)
            if protocol in PAGES and not self.workloads and service not in self.topology.programs:
                title, path = PAGES[protocol]
                urls[f"{title} of {service}"] = self.ports.url(port_name(service, protocol)) + path
        for gateway in self._own(self.topology.gateways):
            title, path = PAGES[GATEWAYS[gateway]]
            urls[title] = entrance(self.switches, self.ports, gateway) + path
        root = EDGE if self.switches.has_edge else self.topology.components[-1]
        urls["Jaeger"] = f"{self.ports.url('jaeger-query-http')}/search?service={root}&limit={LAST_TRACES}"
        if self._prometheus:
            urls["Prometheus"] = self.ports.url(PROMETHEUS)
        return urls

    def _own(self, components: Iterable[str]) -> list[str]:
        """The components that run as the project's Python program; only this program has pages."""
        return [component for component in components if component not in self.topology.programs]

    def _grpc_describer(self) -> str:
        over_grpc = [name for name, protocol in self.topology.exposed.items() if protocol is Protocol.GRPC]
        describer = next(iter(self._own(over_grpc)), "")
        if describer:
            self._extra[describer] = {**self._extra.get(describer, {}), "SHOP_REFLECTION": ",".join(over_grpc)}
        return describer

    @property
    def metrics_urls(self) -> dict[str, str]:
        """The metrics URL of each component's first replica, by the component's name; without sidecars."""
        if self.switches.metrics == "off":
            return {}
        jobs = jobs_of(self.topology, self.switches, self.measured, self.ports, exporters=self._running_exporters)
        places = {job["job_name"]: job["static_configs"][0]["targets"][0] + job["metrics_path"] for job in jobs}
        return {name: f"http://{place}" for name, place in places.items()}

    @property
    def additions(self) -> dict[str, list[str]]:
        """What switches add to the topology, as lines of text, by the switch."""
        added: dict[str, list[str]] = {}
        if self.topology.has_updates:
            spoken = [name for name in LASTING if name in self.topology.behind_edge]
            ways = [line for name in spoken for line in UPDATES[self.topology.behind_edge[name]]]
            added["updates=on"] = ["the notification service; customers watch their orders by", *ways]
        if metrics := self.metrics_urls:
            added["metrics=on"] = [f"{url} ({name})" for name, url in metrics.items()]
        if self._prometheus:
            rules = f"with the alert rules of {ALERT_RULES.relative_to(ROOT)}"
            missing = [exporter.missing for exporter, program in self._exporters.items() if program is None]
            added["monitor=on"] = [f"Prometheus at {self.ports.url(PROMETHEUS)},", rules, *missing]
        return added

    @property
    def commands(self) -> dict[str, str]:
        """Commands that query the proxies' admin pages, by topic."""
        sockets = {"Envoy admin": self.folder.admin_socket(EDGE)} if self.switches.edge == "envoy" else {}
        sockets |= {f"{workload.sidecar} admin": workload.admin for workload in self.workloads}
        return {
            title: f"curl --unix-socket {shlex.quote(str(socket))} http://envoy/stats"
            for title, socket in sockets.items()
        }

    @property
    def in_words(self) -> str:
        parts = parts_of(self.topology, self.switches)
        parts += ["istiod"] if self.switches.mesh == "istio" else []
        return ", ".join(parts)

    @property
    def edge_log(self) -> Path | None:
        return self.logs / ACCESS_LOG if self.switches.has_edge else None

    def span_counts(self) -> SpanCounts:
        return span_counts(self.ports)

    def span_accounts(self) -> dict[str, SpanAccount]:
        return span_accounts(self.folder)

    def cache_counts(self, began_s: float, ended_s: float) -> Mapping[str, CacheCounts]:
        return cache_counts(self.folder, began_s, ended_s)

    def edge_cache_counts(self) -> Mapping[str, int]:
        return edge_cache_counts(self.folder, self._environ) if self.switches.has_edge_cache else {}

    def sidecar_facts(self) -> SidecarFacts | None:
        return read_facts(self.workloads, encrypted=self.switches.encrypted) if self.workloads else None

    def node_of(self, component: str) -> str:  # noqa: ARG002 - a cluster has several nodes
        return ""

    def port_names(self) -> Sequence[str]:
        return [
            *([EDGE] if self.switches.has_edge else []),
            *([EDGE_CACHE] if self.switches.has_edge_cache else []),
            *([LINK] if self.switches.has_edge_cache and self.switches.emulates_network else []),
            *([] if self.workloads else self._shop_ports()),
            *database_ports(self.database),
            *([VALKEY] if self._cache and self._cache.embedded else []),
            *jaeger_ports(self.ports),
            *(["istiod-xds", "istiod-http"] if self.switches.mesh == "istio" else []),
            *([PROMETHEUS] if self._prometheus else []),
            *self._metrics_ports(),
        ]

    @property
    def _running_exporters(self) -> list[str]:
        """Names of the running exporters' components."""
        return [exporter.component for exporter, program in self._exporters.items() if program is not None]

    def _metrics_ports(self) -> Sequence[str]:
        if self.switches.metrics == "off":
            return []
        edge = [EDGE] if self.switches.has_edge else []
        return [metrics_port(name) for name in (*edge, *self._running_exporters, *self.measured)]

    def _shop_ports(self) -> Sequence[str]:
        topology = self.topology
        return [
            *(port_name(name, protocol) for name in topology.components for protocol in topology.protocols_of(name)),
            *map(entrance_name, topology.exposed if topology.passes_by_the_edge else ()),
        ]

    @property
    def measured(self) -> Mapping[str, Sequence[Place]]:
        """Where each component of the shop exposes its metrics with `metrics=on`, one place for each of its
        processes."""
        places: dict[str, list[Place]] = {}
        for ports, name, replica in self._processes():
            places.setdefault(name, []).append(ports.listens(metrics_port(name), replica))
        return places

    def require_free(self) -> None:
        super().require_free()
        for ports in self._apart:
            metrics = map(metrics_port, self.measured if self.switches.metrics == "on" else ())
            ports.require_free([*self._shop_ports(), *metrics])
        if self.switches.http == HTTP3:
            self.ports.require_free([EDGE], udp=True)
        for workload in self.workloads:
            own = [port_name(workload.service, inbound.protocol) for inbound in workload.inbound]
            own += [metrics_port(workload.component)] if self.switches.metrics == "on" else []
            self.ports.require_free(own, at=workload.address)

    def find_dead(self) -> list[ComponentDiedError]:
        # Called repeatedly while a run is watched.
        if self._istio is not None:
            self._istio.renew_tokens()
        return super().find_dead()

    def stop_serving(self) -> None:
        """Stops gateways and services, which send their last spans as they stop.

        The edge and the sidecars send their spans at intervals, and drop unsent spans when they are stopped. So they
        keep running with the trace store until their spans have been read. The database keeps running for the audit.
        """
        self.stop_ranks((GATEWAY_RANK, SERVICE_RANK))

    def components(self) -> Sequence[Component]:
        keys = key_pair(self.folder.keys)
        if self.switches.has_edge_cache:
            ban = invalidation_socket(self.folder, emulated=self.switches.emulates_network)
            own = {"SHOP_EDGE_CACHE": str(ban), **self._extra.get(NOTIFIES_EDGE_CACHE, {})}
            self._extra[NOTIFIES_EDGE_CACHE] = own
        if self.switches.tls == "on":
            # Imported here, because the import is slow and a run without TLS does not need it.
            from mesh.sidecars.certificates import edge_certificate

            self._certificate = edge_certificate(self.folder)
        around = Surroundings(
            self.topology,
            self.switches,
            self.ports,
            self.database,
            keys,
            self.trial,
            self._extra,
            {workload.name: workload for workload in self.workloads},
            telemetry=self.folder.telemetry,
            cache=self._cache,
        )
        document = target_document(
            self.topology, self.switches, self.trial, self.ports, keys.private, self.ca_certificate
        )
        write_json(self.target, document)
        store = database_components(self.database, self.folder, self.ports)
        before = [] if self._cache is None else valkey_components(self._cache, self.folder, self.ports)
        return [
            *store,
            *before,
            database_task(
                self.database,
                self._data,
                after=frozenset(item.name for item in store),
                monitored=self.switches.metrics == "on",
                checkout=self.topology.checkout,
            ),
            *(
                exporter_component(exporter, program, self.database, self._cache, self.ports)
                for exporter, program in self._exporters.items()
                if program is not None
            ),
            jaeger_component(self.ports, self._environ, self.folder),
            *self._shop(around, frozenset({DATABASE_TASK, *(item.name for item in before)})),
            *self._sidecars(),
            *([self._edge()] if self.switches.has_edge else []),
            *self._edge_cache(),
            *([self._monitor(self._prometheus)] if self._prometheus else []),
        ]

    def _monitor(self, program: Path) -> Component:
        jobs = jobs_of(
            self.topology, self.switches, self.measured, self.ports, self.workloads, exporters=self._running_exporters
        )
        return prometheus_component(program, self.folder, self.ports, jobs)

    def _shop(self, around: Surroundings, after: frozenset[str]) -> Sequence[Component]:
        """Every process of the shop; separate components for one kind of journey reach only each other."""
        # Programs that are missing are fetched or compiled here, which may take minutes; no process runs yet.
        with self.interrupts.admit():
            return [
                shop_component(name, replace(around, places=ports), after, replica)
                for ports, name, replica in self._processes()
            ]

    def _processes(self) -> Sequence[tuple[Ports, str, int]]:
        """Every process of the shop: its ports, its component, and the number of its replica."""
        if self.workloads:
            return [(self.ports, one.component, one.replica) for one in self.workloads if one.inbound]
        return [
            (ports, name, replica)
            for ports in (self.ports, *self._apart)
            for name in self.topology.components
            for replica in ports.replicas_of(name)
        ]

    @property
    def _apart(self) -> Sequence[Ports]:
        """The ports of the separate components for one kind of journey, if there are any."""
        return [self.ports.apart] if self.switches.apart else []

    def _edge(self) -> Component:
        sidecar = next((workload for workload in self.workloads if workload.name == EDGE), None)
        plan = EdgePlan(
            self.topology,
            self.ports,
            self.logs / ACCESS_LOG,
            sidecar,
            plugins=self.switches.plugins,
            jwt_public_key=key_pair(self.folder.keys).public.read_text(),
            certificate=self._certificate,
            quic=self.switches.http == HTTP3,
            apart=(self.switches.apart, self.ports.apart) if self.switches.apart else None,
            admission=self.switches.admission == "on",
            metrics=self.switches.metrics == "on",
            page=self._page(),
            describer=self._describer,
        )
        return edge_component(self.switches.edge, plan, self.folder, self._environ)

    def _edge_cache(self) -> Sequence[Component]:
        if not self.switches.has_edge_cache:
            return []
        line = self.switches.customers_network.line if self.switches.emulates_network else None
        settings = self._extra.get(EDGE_CACHE, {})
        return edge_cache_components(self.ports, self.folder, self._environ, line, settings)

    def _page(self) -> str:
        if not self._interactive:
            return ""
        # Imported here, because the import is slow and a measured run does not need it.
        from mesh.native.start_page import start_page

        metrics = {f"Metrics of {name}": url for name, url in self.metrics_urls.items()}
        links = {title: url for title, url in self.urls.items() if title != "Start page"} | metrics
        return start_page(self.topology, self.url, links, self.ca_certificate, LATEST_RUN, self._describer)

    def _sidecars(self) -> Sequence[Component]:
        if not self.workloads:
            return []
        # Imported here, because the import is slow and a run without a mesh does not need it.
        from mesh.sidecars.certificates import authority, issue_all
        from mesh.sidecars.envoy import StaticMesh

        if self.switches.mesh == "istio":
            from mesh.istio.mesh import IstioMesh

            self._istio = IstioMesh(self.workloads, self.topology, self.ports, self.switches, self.folder)
            return self._istio.components(authority(self.folder, self._environ))
        certificates = {}
        if self.switches.encrypted:
            certificates = issue_all(authority(self.folder, self._environ), self.workloads, self.folder)
        return StaticMesh(self.workloads, self.ports, self.switches, certificates).components(self.folder)
