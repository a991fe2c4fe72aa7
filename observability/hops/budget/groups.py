"""What the parts of a hop budget are, in the groups that a reader asks about."""

from __future__ import annotations

from hops.budget.budget import CLIENT_PART, EDGE, GENERATOR, START_LAG_PART, is_sidecar

GATEWAY_SUFFIX = "-gateway"
UNATTRIBUTED_GROUP = "unattributed"

#: In the order of a journey, from the customer inwards; what is no part of the shop last.
GROUPS = (
    "client network",
    "edge",
    "gateways",
    "internal calls",
    "sidecars",
    "services",
    "database",
    "generator",
    UNATTRIBUTED_GROUP,
)


def group_of(part: str) -> str:
    """Names the group of a part.

    Args:
        part: of a budget, as `hops.budget.budget.part_of` names it.

    Returns:
        One of `GROUPS`; a part of no known kind is `unattributed`.
    """
    if part in (CLIENT_PART, START_LAG_PART):
        return "generator"
    kind, _, name = part.partition(":")
    match kind:
        case "wire":
            return "client network" if name.startswith(f"{GENERATOR}→") else "internal calls"
        case "proxy" if name == EDGE:
            return "edge"
        case "proxy" if is_sidecar(name):
            return "sidecars"
        case "work":
            return "gateways" if name.endswith(GATEWAY_SUFFIX) else "services"
        case "db" | "pool":
            return "database"
        case _:
            return UNATTRIBUTED_GROUP
