"""Which component gets a request, by its path: the table that every edge's routes are made from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from mesh.description.streams import LASTING
from mesh.description.topology import SERVICES, Protocol, Topology


class Match(Enum):
    """How a route's path is compared with a request's path, without the query."""

    EXACTLY = auto()
    BELOW = auto()
    """Matches the path itself, and every path below it."""
    PREFIX = auto()
    REGEX = auto()
    """Matches paths that match a regular expression as a whole."""


@dataclass(frozen=True)
class Route:
    """Paths that lead to a component.

    Attributes:
        methods: Methods of the route's paths; empty if the route is part of another route, which lists the methods.
        streams: Whether answers are long-lived: they have no time limit while data keeps arriving.
        sockets: Whether requests may become WebSockets.
        converses: Whether the component answers before the request is complete.
    """

    component: str
    match: Match
    path: str
    methods: Sequence[str] = ()
    streams: bool = False
    sockets: bool = False
    converses: bool = False

    @property
    def pattern(self) -> str:
        """A regular expression that matches the whole path of the route's requests."""
        return {
            Match.EXACTLY: re.escape(self.path),
            Match.BELOW: f"{re.escape(self.path)}(/.*)?",
            Match.PREFIX: f"{re.escape(self.path)}.*",
            Match.REGEX: self.path,
        }[self.match]


READS = ("GET", "HEAD")
QUERIES = ("GET", "POST")
CALLS = ("POST",)
EVERY = (*READS, "POST", "PATCH", "DELETE")


def calls_of(service: str) -> str:
    """Returns the prefix of the paths of a service's calls, over gRPC and Connect."""
    return f"/shop.{service}.v1.{service.capitalize()}Service/"


OF_GATEWAYS: Sequence[Route] = (
    Route("graphql-gateway", Match.BELOW, "/graphql", QUERIES),
    Route("rest-gateway", Match.BELOW, "/v1", EVERY),
    Route("rest-gateway", Match.BELOW, "/docs", READS),
    Route("rest-gateway", Match.EXACTLY, "/openapi.json", READS),
)
OF_SERVICES: Mapping[Protocol, Sequence[Route]] = {
    Protocol.REST: (
        # A user's orders and notifications belong to other services, so their routes come before the users' route.
        Route("order", Match.REGEX, "/v1/users/[^/]+/orders", READS),
        Route("notification", Match.REGEX, "/v1/users/[^/]+/notifications(:markRead)?", (*READS, "POST")),
        Route("product", Match.BELOW, "/v1/products", EVERY),
        Route("product", Match.BELOW, "/v1/reviews", READS),
        Route("product", Match.BELOW, "/v1/product-rows", READS),
        Route("product", Match.BELOW, "/v1/documents", READS),
        Route("user", Match.BELOW, "/v1/users", EVERY),
        Route("user", Match.EXACTLY, "/v1/sessions", CALLS),
        # This route also matches `/v1/orders/17:cancel`.
        Route("order", Match.BELOW, "/v1/orders", (*READS, "POST", "PATCH")),
        Route("order", Match.BELOW, "/v1/order-lines", READS),
        Route("payment", Match.BELOW, "/v1/payments", (*READS, "POST", "PUT")),
    ),
    # The edge marks its requests, so that services can refuse external calls to internal methods.
    Protocol.GRPC: [Route(service, Match.PREFIX, calls_of(service), CALLS) for service in SERVICES],
    Protocol.CONNECT: [Route(service, Match.PREFIX, calls_of(service), QUERIES) for service in SERVICES],
    # The services' path for clients; /graphql is for other services.
    Protocol.GRAPHQL: [Route(service, Match.EXACTLY, f"/graphql/{service}", QUERIES) for service in SERVICES],
    Protocol.THRIFT_JSON: [Route(service, Match.EXACTLY, f"/thrift/{service}", CALLS) for service in SERVICES],
}


REFLECTION = r"/grpc\.reflection\.v1(alpha)?\.ServerReflection/ServerReflectionInfo"
"""The path by which clients such as grpcurl read the contract."""

_STREAMING = {Protocol.REST: READS, Protocol.GRAPHQL: QUERIES, Protocol.GRPC: CALLS}


def routes(topology: Topology, describer: str = "") -> list[Route]:
    """The edge's routes for a topology; the first route that matches a path wins. Framed Thrift bypasses the edge.

    `describer` names the component that describes the gRPC services; empty for none.
    """
    to_gateways = [route for gateway in topology.gateways for route in OF_GATEWAYS if route.component == gateway]
    protocols = sorted(set(topology.exposed.values()))
    to_services = [route for protocol in protocols for route in OF_SERVICES.get(protocol, ())]
    behind = topology.behind_edge
    streams = [
        Route(component, Match.REGEX, path, _STREAMING[protocol], streams=True, sockets=protocol is Protocol.GRAPHQL)
        for component, lasting in LASTING.items()
        for protocol, paths in lasting.items()
        if behind.get(component) is protocol
        for path in paths
    ]
    described = [Route(describer, Match.REGEX, REFLECTION, CALLS, converses=True)] if describer else []
    every = [*(streams if topology.has_updates else ()), *to_gateways, *to_services, *described]
    return [route for route in every if route.component in behind]
