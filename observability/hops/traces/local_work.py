"""CLIENT spans that call nobody: a client's own work on the way to a call, such as a name lookup or connecting.

Instrumentations of sockets and HTTP clients write these as CLIENT spans next to the call or below it. A request in an
application protocol is a call, no matter its name. Otherwise a DNS attribute, or the name, shows that nobody was
called.
"""

from __future__ import annotations

import re
from functools import lru_cache

from hops.traces.span import Span

LOCAL_WORK = frozenset({"dns.question.name", "dns.record.domain", "dns.hostname", "dns.address", "http.dns.addrs"})
"""Attributes of name lookups: OpenTelemetry's, Kong's, Datadog's, and OpenTelemetry's for Go."""
PROTOCOLS = frozenset(
    {"url.full", "http.url", "rpc.system", "db.system", "db.system.name", "db.type", "messaging.system"}
)
"""Attributes of requests, one for each application protocol."""
NAMES = (
    # Name lookup: `dns.lookup` of Node.js, `kong.dns`, `http.dns` of Go, `DNS lookup pay` of .NET.
    r"\bdns\b|^resolve$|\bname resolution\b|\bgetaddrinfo\b|\bgethostby\w*\b",
    # Handshake of an encrypted connection: `tls.connect` of Node.js, `http.tls` of Go, `SSL handshake` of Netty.
    r"\b(tls|ssl)( (client|server))? (handshake|connect|negotiat\w+)\b|^http tls$",
    # Opening a connection: `tcp.connect` of Node.js, `CONNECT` of Netty, `socket connect 192.0.2.7` of .NET.
    r"^(tcp|udp|quic|ipc|unix|net|socket|http2?|grpc) (connect|dial|connection setup)\b|^connect$",
    # Waiting for a connection: `http.getconn` of Go, `HTTP wait_for_connection pay` of .NET, `pool.acquire`.
    r"\bgetconn\b|\b(pool|connection) (acquire|wait|checkout|get|borrow|lease)\b",
    r"\b(acquire|get|borrow|lease|check ?out|wait(ing)?( for)?)( a)? (conn|connection)\b",
    # Steps of an exchange, below the CLIENT span of the request: Go's `httptrace`.
    r"^http (send|receive|headers)$",
    # Waiting before a retry; writing or reading a message.
    r"\b(retry|backoff) (wait|delay|sleep)\b|^(backoff|sleep)$",
    r"^(de)?seriali[sz]e\b|^(un)?marshal\b|^(en|de)code\b",
)
"""Patterns for the names of a client's own work, in lower case and with spaces between words."""

_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+")
_NAMED = re.compile("|".join(NAMES))


def is_local_work(span: Span) -> bool:
    """Whether an unanswered CLIENT span calls nobody."""
    attributes = span.attributes
    if not LOCAL_WORK.isdisjoint(attributes):
        return True
    return _is_named_so(span.name) and PROTOCOLS.isdisjoint(attributes)


@lru_cache(maxsize=4096)
def _is_named_so(name: str) -> bool:
    return _NAMED.search(_WORDS.sub(" ", name).strip().lower()) is not None
