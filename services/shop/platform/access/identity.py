"""The identity of a caller, which its certificate holds and our own sidecar passes on in a header.

A sidecar verifies the client's certificate and describes it in `x-forwarded-client-cert`. The header has elements
separated by commas, one for each proxy on the way. Each element has pairs separated by semicolons, with quotes around
values that contain a separator
(https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_conn_man/headers#x-forwarded-client-cert).
"""

from __future__ import annotations

import re
from functools import lru_cache

CERTIFICATE_HEADER = "x-forwarded-client-cert"

# https://github.com/spiffe/spiffe/blob/main/standards/SPIFFE-ID.md#2-spiffe-identity
_SPIFFE_ID = re.compile(r"(spiffe://[a-z0-9._-]+/)[a-zA-Z0-9._-]+(?:/[a-zA-Z0-9._-]+)*")
_PAIR = re.compile(r'[ \t]*([A-Za-z]+)=("(?:[^"\\]|\\.)*"|[^",;]*)([,;]|\Z)')


def trust_domain(identity: str) -> str | None:
    """Returns what all identities of a trust domain share: "spiffe://cluster.local/"; None for no identity."""
    parts = _SPIFFE_ID.fullmatch(identity)
    return None if parts is None else parts[1]


# Certificates rotate, and so does the header: the number of remembered headers is limited.
@lru_cache(maxsize=256)
def caller_identity(header: str) -> str | None:
    """Returns the only identity in a header's last element, which describes the sidecar's caller; None if malformed."""
    uris: list[str] = []
    at, separator = 0, ","
    while separator:
        pair = _PAIR.match(header, at)
        if pair is None:
            return None
        if separator == ",":
            uris = []
        name, value, separator = pair.groups()
        if name == "URI":
            uris.append(value[1:-1] if value.startswith('"') else value)
        at = pair.end()
    # An X.509 identity has exactly one URI; with more, it would be unclear which one counts.
    return uris[0] if len(uris) == 1 and trust_domain(uris[0]) is not None else None
