"""The limits of every edge: duration, size and number of requests, and their headers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

REQUEST_S = 5
"""Within this time a request must arrive in full, however steadily its bytes come; otherwise it gets a 408."""
ANSWER_S = 5
"""Within this time a component must have answered in full; otherwise the client gets a 504."""
LEAVES_S = REQUEST_S + ANSWER_S
"""How long an edge keeps running once its successor is ready: long enough to finish its requests."""
CONVERSES_S = REQUEST_S + ANSWER_S
"""The maximum duration of a request whose component answers before the request is complete."""
DEADLINE = "x-envoy-expected-rq-timeout-ms"
"""The header with the time limit for the answer, for every component behind the edge."""
STREAM_IDLE_S = 15
WATCH_IDLE_S = 45
"""The maximum silence of a long-lived answer; its component sends a keep-alive every 15 s."""
CONNECTION_IDLE_S = 300
CONNECT_S = 1
UPSTREAM_IDLE_S = 30
"""Gateways keep idle connections longer than this, so a request never gets a connection that is being closed."""
JOURNEY = "x-journey"
"""The header by which the load generator names the kind of journey, if that kind has separate components."""
CHECK_EVERY_S = CHECK_LIMIT_S = 1
"""Interval of the health checks of a component's replicas, and the time limit of each check."""
UNHEALTHY_AFTER = 2
"""Failed checks in a row after which a replica gets no more requests; one successful check brings it back."""
HEALTH_PATH = "/healthz"
"""Path of a component's health check over HTTP; over gRPC, a component has gRPC's health service."""
MAX_BODY = 131_072
"""Maximum bytes of a request's body; above the limit of gateways and services, so that these refuse a slightly too
large body with their own message."""
MAX_HEADER_BYTES = 60 * 1024
"""Maximum bytes of a request's line and headers together."""
MAX_HEADER_COUNT = 100
MAX_CONNECTIONS = 10_000
STREAMS_PER_CONNECTION = 1024
OPENINGS, OPENINGS_PER_S = 400, 20
"""Streams that one token may open at once, and per second in the long run: as many as a partner may open. Behind the
edge, customers have lower limits."""
MAX_CALLERS = 10_000
"""Maximum number of callers whose requests an edge counts."""
MARK = "x-hopwise-edge"
"""The header by which the edge marks requests; its value is the client's address. Services that clients reach directly
check the tokens of marked requests, and refuse calls that only services may make. A client can neither forge the header
nor leave it out."""
REMOVED_SUFFIX = "-bin"
"""Suffix of headers with binary metadata, which the edge removes. Clients have no reason to send them or gRPC's
internal headers, and gRPC fails a call with INTERNAL if it cannot parse such a header."""
REMOVED_PATTERN = ".*[^0-9a-z_.:-].*"
"""Names of headers that HTTP allows but gRPC does not. The edge removes such headers, because gRPC fails the call with
INTERNAL. Kong's nginx removes them by itself."""
REMOVED = ("grpc-previous-rpc-attempts", "grpc-retry-pushback-ms", "grpc-status", "grpc-internal-encoding-request")
METHODS = "GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS"
"""Methods that the edge forwards; it refuses others, with the route's methods in `Allow` (`mesh.edge.routes`)."""
CALL_METHODS = ("GET", "POST")
"""Methods of calls from pages of other origins."""
CALLS = "/shop."
"""Prefix of the paths of gRPC calls."""
PREFLIGHT_S = 7200
"""How long a browser may remember what pages of other origins may send; Chromium forgets after this time anyway."""
ALLOWED_HEADERS = (
    "authorization",
    "connect-protocol-version",
    "connect-timeout-ms",
    "content-type",
    "grpc-timeout",
    "priority",
    "traceparent",
    "tracestate",
    "x-grpc-web",
    "x-user-agent",
)
"""Headers that pages of other origins may send with a call."""
EXPOSED_HEADERS = ("grpc-status", "grpc-message", "grpc-status-details-bin", "retry-after")
"""Headers that pages of other origins may read in a call's answer."""
REFLECTIONS = "/grpc.reflection."
"""Prefix of the paths of gRPC reflection."""


@dataclass(frozen=True)
class Checked:
    """A header that the edge refuses unless it is absent or valid.

    Attributes:
        name: Name of the header, or of the pseudo-header of HTTP/2 that stands for it.
        pattern: Regular expression that its whole value must match.
        answer: The status that selects the reply to an invalid value (`mesh.edge.replies`).
        below: Prefix of the paths for which the header is checked.
    """

    name: str
    pattern: str
    answer: int
    refusal: str
    below: str = "/"


# gRPC resets a call with a method other than POST, and the client gets UNAVAILABLE.
CALLED_BY_POST = Checked(":method", "POST", 405, "", CALLS)
# If gRPC cannot parse a header, it keeps the header in its HPACK table nevertheless, and then refuses every later call
# that references the header's name there. The edge shares connections, so this would affect all clients.
CHECKED: Sequence[Checked] = (
    Checked(
        *("grpc-timeout", "[0-9]{1,8}[HMSmun]", 460),
        "grpc-timeout is not valid; valid: 1 to 8 digits and a unit of H, M, S, m, u, n",
        CALLS,
    ),
    Checked(
        *("grpc-encoding", "identity|deflate|gzip", 461),
        "grpc-encoding is unknown; valid: identity, deflate, gzip",
        CALLS,
    ),
    Checked(":method", METHODS, 405, ""),
    CALLED_BY_POST,
    # Envoy joins two headers with the same name with a comma.
    Checked(":authority", r"[A-Za-z0-9._~%!$&'()*+;=:\[\]-]+", 462, "there must be one host, with a valid name"),
    Checked("authorization", "[^,]*", 463, "there must be one authorization header at most, without a comma"),
)
CHECKED_OF_REFLECTION: Sequence[Checked] = [replace(one, below=REFLECTIONS) for one in CHECKED if one.below == CALLS]
"""The same checks for gRPC reflection at the edge: its calls share connections with all other calls."""
ALPN = ["h2", "http/1.1"]
"""Protocols that clients may negotiate over TLS."""
