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


def group_of(part: str) -> str:
    """Returns the group of a part, one of `GROUPS`; a part of no known kind is `unattributed`."""
    if part in (CLIENT_PART, START_LAG_PART):
        return "generator"
    if part == NETWORK_PART:
        return NETWORK_GROUP
    if part == HANDSHAKE_PART:
        return HANDSHAKE_GROUP
    if part in (WAITING_PART, PUSH_PART):
        return "client wire"
    kind, _, name = part.partition(":")
    match kind:
        case "hit":
            return CACHE_GROUP
        case "wire" if name.startswith(f"{EDGE_CACHE}→"):
            return NETWORK_GROUP
        case "wire":
            return "client wire" if name.startswith(f"{GENERATOR}→") else "internal calls"
        case "queue":
            return QUEUES_GROUP
        case "proxy" if name == EDGE_CACHE:
            return CACHE_GROUP
        case "proxy" if name == EDGE:
            return "edge"
        case "proxy" if is_sidecar(name):
            return "sidecars"
        case "proxy":
            return PROXIES_GROUP
        case "work":
            return "gateways" if name.endswith(GATEWAY_SUFFIX) else "services"
        case "db" | "pool":
            return "database"
        case "cache":
            return CACHE_GROUP
        case "outbox":
            return "internal calls"
        case "messaging":
            return MESSAGING_GROUP
        case "external":
            return EXTERNAL_GROUP
        case _:
            return UNATTRIBUTED_GROUP
