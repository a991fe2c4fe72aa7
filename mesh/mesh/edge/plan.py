"""The plan of a run's edge, independent of the proxy and of the machine that it runs on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from mesh.description.places import Place, Places
from mesh.description.topology import EDGE, Protocol, Topology, port_name
from mesh.edge.limits import CALLED_BY_POST, CHECKED, CHECKED_OF_REFLECTION, Checked
from mesh.edge.routes import Route, routes
from mesh.sidecars.workloads import Workload

if TYPE_CHECKING:
    from mesh.sidecars.certificates import Certificate

STDOUT = Path("/dev/stdout")
"""The access log of an edge in a container without measurement."""


@dataclass(frozen=True)
class Upstream:
    """A gateway or service behind the edge.

    Attributes:
        places: Where the component is reached. The edge balances requests over several places, and over the addresses
            of a name.
        socket: The Unix domain socket where the edge's own sidecar accepts requests for the component; None without a
            mesh.
        authority: The host that requests carry, by which a sidecar routes them; None without a mesh.
        journey: The only kind of journey that the component serves; empty if it serves all other kinds.
    """

    component: str
    protocol: Protocol
    places: Sequence[Place]
    socket: Path | None = None
    authority: str | None = None
    journey: str = ""

    @property
    def name(self) -> str:
        """Name in the edge's configuration."""
        return f"{self.component}-apart" if self.journey else self.component

    @property
    def is_balanced(self) -> bool:
        """Whether the edge itself chooses among replicas; with a mesh, its sidecar does."""
        has_several = len(self.places) > 1 or not self.places[0].is_numeric
        return has_several and self.socket is None and self.authority is None


@dataclass(frozen=True)
class EdgePlan:
    """The inputs of an edge's configuration.

    Attributes:
        places: Where the edge listens, and where it reaches everything else.
        sidecar: The edge as a part of a native mesh, where it sends everything through its sidecar; None without a
            sidecar.
        by_host: Whether requests name their component as the host, by which the sidecar of a cluster's mesh routes
            them.
        plugins: The edge's functions in addition to routing: `none`, `typical` or `all` (`mesh.edge.plugins`).
        jwt_public_key: The key, in PEM form, that checks the shop's tokens; only plugins need it.
        certificate: The edge's certificate for clients, which connect with TLS; None for no TLS.
        quic: Whether the edge speaks HTTP/3 too, at the same port number over UDP; needs a certificate.
        apart: The kind of journey that has separate components, and their places; None if there are none.
        admission: Whether the edge refuses requests when answers take too long (`mesh.edge.admission`).
        describer: Name of the component that describes the gRPC services to clients; empty for none.
        sampling: Percentage of requests that are traced, unless the sender opts out.
        proxied: Whether clients reach the edge through a proxy that appends their addresses to `x-forwarded-for`.
    """

    topology: Topology
    places: Places
    access_log: Path
    sidecar: Workload | None = None
    by_host: bool = False
    plugins: str = "none"
    jwt_public_key: str = ""
    certificate: Certificate | None = None
    quic: bool = False
    apart: tuple[str, Places] | None = None
    admission: bool = False
    metrics: bool = False
    page: str = ""
    describer: str = ""
    sampling: float = 100.0
    proxied: bool = False

    @property
    def listen(self) -> Place:
        """Where clients reach the edge."""
        return self.places.listens(EDGE)

    @property
    def admin(self) -> Place:
        """The edge's admin address in a container; on a shared machine there is no admin port."""
        return self.places.listens("edge-admin")

    @property
    def metrics_place(self) -> Place | None:
        """Where the edge exposes its metrics; None if it does not."""
        return self.places.listens("edge-metrics") if self.metrics else None

    @property
    def routes(self) -> list[Route]:
        """The edge's routes to components; the first route that matches a path wins."""
        return routes(self.topology, self.describer)

    @property
    def checked(self) -> Sequence[Checked]:
        """The headers that the edge refuses unless they are valid."""
        # Connect reads with GET, and its library refuses GET for other calls.
        reads = Protocol.CONNECT in self.topology.exposed.values()
        checked = [one for one in CHECKED if not (reads and one is CALLED_BY_POST)]
        return [*checked, *(CHECKED_OF_REFLECTION if self.describer else ())]

    @cached_property
    def upstreams(self) -> Sequence[Upstream]:
        """The components behind the edge, then the separate components for one kind of journey."""
        behind = [(name, of, port_name(name, of)) for name, of in self.topology.behind_edge.items()]
        ways = {to.callee: to for to in self.sidecar.outbound} if self.sidecar else {}
        upstreams = []
        for name, protocol, port in behind:
            places, way = self.places.endpoints(port), ways.get(name)
            if way:
                upstreams.append(Upstream(name, protocol, places, way.socket, way.authority))
            else:
                upstreams.append(Upstream(name, protocol, places, authority=str(places[0]) if self.by_host else None))
        if self.apart:
            journey, apart = self.apart
            upstreams += [Upstream(name, of, apart.endpoints(port), journey=journey) for name, of, port in behind]
        return upstreams

    def leads_to(self, component: str) -> list[Upstream]:
        """Where requests for a component go; components that serve one kind of journey only come first."""
        return [upstream for upstream in reversed(self.upstreams) if upstream.component == component]
