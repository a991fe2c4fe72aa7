"""Groups of the parts of a hop budget, as readers ask about them."""

from __future__ import annotations

from hops.budget.parts import (
    CLIENT_PART,
    EDGE,
    EDGE_CACHE,
    GENERATOR,
    HANDSHAKE_PART,
    NETWORK_PART,
    PUSH_PART,
    START_LAG_PART,
    WAITING_PART,
    is_sidecar,
)

GATEWAY_SUFFIX = "-gateway"
NETWORK_GROUP = "customer's network"
HANDSHAKE_GROUP = "handshakes"
QUEUES_GROUP = "busy components"
CACHE_GROUP = "cache"
UNATTRIBUTED_GROUP = "unattributed"
MESSAGING_GROUP = "messaging"
EXTERNAL_GROUP = "external calls"
PROXIES_GROUP = "proxies"

GROUPS = (
    NETWORK_GROUP,
    HANDSHAKE_GROUP,
    "client wire",
    "edge",
    "gateways",
    "internal calls",
    QUEUES_GROUP,
    "sidecars",
    "services",
    "database",
    CACHE_GROUP,
    "generator",
    UNATTRIBUTED_GROUP,
    MESSAGING_GROUP,
    EXTERNAL_GROUP,
    PROXIES_GROUP,
)
"""Groups in the order of a journey, from the customer inwards; then groups outside the shop, then the groups of other
systems."""


_OF_PART = {
    CLIENT_PART: "generator",
    START_LAG_PART: "generator",
    NETWORK_PART: NETWORK_GROUP,
    HANDSHAKE_PART: HANDSHAKE_GROUP,
    WAITING_PART: "client wire",
    PUSH_PART: "client wire",
}
_OF_PROXY = {EDGE_CACHE: CACHE_GROUP, EDGE: "edge"}
_OF_KIND = {
    "hit": CACHE_GROUP,
    "queue": QUEUES_GROUP,
    "work": "services",
    "db": "database",
    "pool": "database",
    "cache": CACHE_GROUP,
    "outbox": "internal calls",
    "messaging": MESSAGING_GROUP,
    "external": EXTERNAL_GROUP,
}


def group_of(part: str) -> str:
    """Returns the group of a part, one of `GROUPS`; a part of no known kind is `unattributed`."""
    if part in _OF_PART:
        return _OF_PART[part]
    kind, _, name = part.partition(":")
    if kind == "wire":
        if name.startswith(f"{EDGE_CACHE}→"):
            return NETWORK_GROUP
        return "client wire" if name.startswith(f"{GENERATOR}→") else "internal calls"
    if kind == "proxy":
        return _OF_PROXY.get(name) or ("sidecars" if is_sidecar(name) else PROXIES_GROUP)
    if kind == "work" and name.endswith(GATEWAY_SUFFIX):
        return "gateways"
    return _OF_KIND.get(kind, UNATTRIBUTED_GROUP)
