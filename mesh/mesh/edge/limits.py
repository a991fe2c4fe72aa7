"""What every edge lets through: how long, how large and how many requests may be, and which headers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

REQUEST_S = 5
"""Within this time a request must arrive in full, however steadily its bytes come; otherwise it gets a 408."""
ANSWER_S = 5
"""Within this time a component must have answered in full; otherwise the client gets a 504."""
LEAVES_S = REQUEST_S + ANSWER_S
"""How long an edge whose successor is ready lives on: as long as a request that has begun may take."""
CONVERSES_S = REQUEST_S + ANSWER_S
"""How long a request may last that its component answers before it is complete."""
DEADLINE = "x-envoy-expected-rq-timeout-ms"
"""The header that tells every component behind the edge how long the answer may take."""
STREAM_IDLE_S = 15
WATCH_IDLE_S = 45
"""As long may nothing come of an answer that lasts; its component says every 15 s that it is still open."""
CONNECTION_IDLE_S = 300
CONNECT_S = 1
UPSTREAM_IDLE_S = 30
"""Gateways keep idle connections longer, so a request never meets a connection that is being closed."""
JOURNEY = "x-journey"
"""The header by which the load generator names the kind of journey that has components to itself."""
CHECK_EVERY_S = CHECK_LIMIT_S = 1
"""How often a component with several replicas is asked for the health of each, and how long the answer may take."""
UNHEALTHY_AFTER = 2
"""Checks in a row that must fail before a replica gets no requests any more; one that succeeds brings it back."""
HEALTH_PATH = "/healthz"
"""Where a component tells its health over HTTP; over gRPC, it has gRPC's own health service."""
MAX_BODY = 131_072
"""Bytes of a request's body; above the limit of gateways and services, so that they refuse a body that is only somewhat
too large in their own words."""
MAX_HEADER_BYTES = 60 * 1024
"""Bytes of a request's line and headers together."""
MAX_HEADER_COUNT = 100
MAX_CONNECTIONS = 10_000
STREAMS_PER_CONNECTION = 1024
OPENINGS, OPENINGS_PER_S = 400, 20
"""Streams that the edge lets one token open at once, and per second in the long run: as many as a partner may open.
Behind the edge, customers have lower limits."""
MAX_CALLERS = 10_000
"""Callers whose requests an edge counts."""
MARK = "x-hopwise-edge"
"""Services that clients reach directly check the tokens of requests with this header, and refuse calls that only
services may make. Its value is the client's address. A client can neither forge it nor leave it out."""
REMOVED_SUFFIX = "-bin"
"""Clients have no reason to send binary metadata or gRPC's internal headers to the services, and gRPC fails the call
with INTERNAL if it cannot parse one."""
REMOVED_PATTERN = ".*[^0-9a-z_.:-].*"
"""Names that HTTP allows and gRPC does not: it fails the call with INTERNAL. Kong's nginx removes them by itself."""
REMOVED = ("grpc-previous-rpc-attempts", "grpc-retry-pushback-ms", "grpc-status", "grpc-internal-encoding-request")
METHODS = "GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS"
"""The edge refuses the others, with the methods of the route in `Allow` (`mesh.edge.routes`)."""
CALL_METHODS = ("GET", "POST")
"""By which pages of other origins may make calls."""
CALLS = "/shop."
"""What the paths of gRPC calls begin with."""
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
"""What pages of other origins may send with a call."""
EXPOSED_HEADERS = ("grpc-status", "grpc-message", "grpc-status-details-bin", "retry-after")
"""What they may read of its answer."""
REFLECTIONS = "/grpc.reflection."
"""What the paths of gRPC reflection begin with."""


@dataclass(frozen=True)
class Checked:
    """What the edge refuses unless it is valid; it need not be there.

    Attributes:
        name: Name of the header, or of the pseudo-header of HTTP/2 that stands for it.
        pattern: Regular expression that its whole value must match.
        answer: The status by which the program finds the reply to a value that does not (`mesh.edge.replies`).
        refusal: Message for the client.
        below: What the paths begin with for which it is checked.
    """

    name: str
    pattern: str
    answer: int
    refusal: str
    below: str = "/"


# gRPC answers another method by a reset, which would be UNAVAILABLE to the client.
CALLED_BY_POST = Checked(":method", "POST", 405, "", CALLS)
# gRPC keeps a header that it cannot parse in its HPACK table, and then refuses every later call that takes the header's
# name from there. The edge shares connections, so this would hit all clients.
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
    # Envoy joins two of a kind with a comma.
    Checked(":authority", r"[A-Za-z0-9._~%!$&'()*+;=:\[\]-]+", 462, "there must be one host, with a valid name"),
    Checked("authorization", "[^,]*", 463, "there must be one authorization header at most, without a comma"),
)
CHECKED_OF_REFLECTION: Sequence[Checked] = [replace(one, below=REFLECTIONS) for one in CHECKED if one.below == CALLS]
"""The same where gRPC reflection is at the edge: its calls share connections with the others."""
ALPN = ["h2", "http/1.1"]
"""What clients may choose from when they speak TLS."""
