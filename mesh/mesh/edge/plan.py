"""The plan of a run's edge, independent of the proxy and of the machine that it runs on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
        admin: The edge's admin address in a container; on a shared machine there is no admin port.
        upstreams: The components behind the edge, by name.
        plugins: The edge's functions in addition to routing: `none`, `typical` or `all` (`mesh.edge.plugins`).
        jwt_public_key: The key, in PEM form, that checks the shop's tokens; only plugins need it.
        certificate: The edge's certificate for clients, which connect with TLS; None for no TLS.
        quic: Whether the edge speaks HTTP/3 too, at the same port number over UDP; needs a certificate.
        apart: The separate components that serve one kind of journey only, by name; empty if there are none.
        admission: Whether the edge refuses requests when answers take too long (`mesh.edge.admission`).
        describer: Name of the component that describes the gRPC services to clients; empty for none.
        sampling: Percentage of requests that are traced, unless the sender opts out.
        proxied: Whether clients reach the edge through a proxy that appends their addresses to `x-forwarded-for`.
    """

    topology: Topology
    listen: Place
    admin: Place
    upstreams: Mapping[str, Upstream]
    otlp_grpc: Place
    otlp_http: Place
    access_log: Path
    plugins: str = "none"
    jwt_public_key: str = ""
    certificate: Certificate | None = None
    quic: bool = False
    apart: Mapping[str, Upstream] = field(default_factory=dict)
    admission: bool = False
    metrics: Place | None = None
    page: str = ""
    describer: str = ""
    sampling: float = 100.0
    proxied: bool = False

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

    def leads_to(self, component: str) -> list[Upstream]:
        """Where requests for a component go; components that serve one kind of journey only come first."""
        return [upstreams[component] for upstreams in (self.apart, self.upstreams) if component in upstreams]


def edge_plan(
    topology: Topology,
    places: Places,
    access_log: Path,
    sidecar: Workload | None = None,
    *,
    plugins: str = "none",
    jwt_public_key: str = "",
    certificate: Certificate | None = None,
    quic: bool = False,
    apart: tuple[str, Places] | None = None,
    admission: bool = False,
    metrics: bool = False,
    page: str = "",
    describer: str = "",
) -> EdgePlan:
    """The plan of a topology's edge; arguments are as in `EdgePlan`, except these.

    Args:
        sidecar: The edge as a part of a native mesh, where it sends everything through its sidecar; None without a
            sidecar.
        apart: The kind of journey that has separate components, and their places; None if there are none.
    """
    upstreams = _upstreams(topology, places)
    for to in sidecar.outbound if sidecar else ():
        upstreams[to.callee] = replace(upstreams[to.callee], socket=to.socket, authority=to.authority)
    return EdgePlan(
        topology=topology,
        listen=places.listens(EDGE),
        admin=places.listens("edge-admin"),
        upstreams=upstreams,
        otlp_grpc=places.endpoints("jaeger-otlp-grpc")[0],
        otlp_http=places.endpoints("jaeger-otlp-http")[0],
        access_log=access_log,
        plugins=plugins,
        jwt_public_key=jwt_public_key,
        certificate=certificate,
        quic=quic,
        apart=_upstreams(topology, apart[1], apart[0]) if apart else {},
        admission=admission,
        metrics=places.listens("edge-metrics") if metrics else None,
        page=page,
        describer=describer,
    )


def _upstreams(topology: Topology, places: Places, journey: str = "") -> dict[str, Upstream]:
    return {
        component: Upstream(component, protocol, places.endpoints(port_name(component, protocol)), journey=journey)
        for component, protocol in topology.behind_edge.items()
    }
