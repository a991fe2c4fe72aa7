"""The places of a system's parts in a cluster: each is a service with the part's name, at the default ports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mesh.description.places import Place
from mesh.description.ports import HOST, Ports, load_ports
from mesh.description.topology import EDGE

EVERYWHERE = "0.0.0.0"  # noqa: S104 - within a pod; network policies say who may call
OTLP = {"jaeger-otlp-grpc": 4317, "jaeger-otlp-http": 4318}
"""The default ports of an OpenTelemetry collector, by the names of Jaeger's ports."""
OWN_POD = frozenset({f"{EDGE}-admin"})
"""Ports that are reachable only inside the pod."""


@dataclass(frozen=True)
class ClusterPlaces:
    """The ports of the ports file, at the addresses of a cluster.

    Attributes:
        collector: Host of a collector that receives the spans instead of a Jaeger; None if there is a Jaeger.
        ports: The ports at their default base: each pod has its own address, so nothing collides.
    """

    collector: str | None = None
    ports: Ports = field(default_factory=lambda: load_ports({}))

    def listens(self, name: str, replica: int = 1) -> Place:  # noqa: ARG002 - pods of one component are alike
        """Where a process listens in its pod."""
        return Place(HOST if name in OWN_POD else EVERYWHERE, self.ports[name])

    def endpoints(self, name: str) -> Sequence[Place]:
        """The service's name: with a mesh it resolves to the sidecar, else to the addresses of all pods."""
        if self.collector and name in OTLP:
            return (Place(self.collector, OTLP[name]),)
        # `product` for `product-grpc`, `graphql-gateway` for itself.
        whole = name.endswith(("-metrics", "-gateway"))
        return (Place(name.removesuffix("-metrics") if whole else name.partition("-")[0], self.ports[name]),)
