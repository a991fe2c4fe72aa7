"""Long-lived answers, by protocol and component: they have no time limit while data keeps arriving."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mesh.description.topology import NOTIFICATION, Protocol

PATHS: Mapping[Protocol, Sequence[str]] = {
    Protocol.GRPC: (r"/shop\.notification\.v1\.NotificationService/Watch[A-Za-z]+",),
    Protocol.REST: ("/v1/orders/[^/]+/events", "/v1/users/[^/]+/notifications/events"),
    Protocol.GRAPHQL: ("/graphql/stream",),
}
"""Regular expressions of whole paths, for clients that follow updates of their orders."""
LASTING: Mapping[str, Mapping[Protocol, Sequence[str]]] = {
    "graphql-gateway": {Protocol.GRAPHQL: PATHS[Protocol.GRAPHQL]},
    "rest-gateway": {Protocol.REST: PATHS[Protocol.REST]},
    NOTIFICATION: PATHS,
}
"""The regular expressions of the paths that each component serves."""
MAX_STREAMS = 10_000
"""How many streams a proxy keeps open to a component. Each stream occupies a request, and over HTTP/1.1 a connection,
for as long as its client waits."""
