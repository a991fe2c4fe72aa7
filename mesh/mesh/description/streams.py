"""Answers that last, by what serves them: as long as something comes now and then, however long they take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mesh.description.topology import NOTIFICATION, Protocol

PATHS: Mapping[Protocol, Sequence[str]] = {
    Protocol.GRPC: (r"/shop\.notification\.v1\.NotificationService/Watch[A-Za-z]+",),
    Protocol.REST: ("/v1/orders/[^/]+/events", "/v1/users/[^/]+/notifications/events"),
    Protocol.GRAPHQL: ("/graphql/stream",),
}
"""Regular expressions of whole paths: those of clients that wait for news of their orders."""
LASTING: Mapping[str, Mapping[Protocol, Sequence[str]]] = {
    "graphql-gateway": {Protocol.GRAPHQL: PATHS[Protocol.GRAPHQL]},
    "rest-gateway": {Protocol.REST: PATHS[Protocol.REST]},
    NOTIFICATION: PATHS,
}
"""The same by component."""
MAX_STREAMS = 10_000
"""How many of them a proxy holds to a component. Each is a request, and over HTTP/1.1 a connection, for as long as its
client waits."""
