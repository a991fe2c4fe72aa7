"""Units and names that all of `hops` shares."""

from __future__ import annotations

NS_PER_MS = 1e6

ALL = "all"
"""The name of the whole mix among the journeys."""

SERVICES = ("product", "order", "user", "payment", "notification")
"""The shop's services, by their names in traces."""

CANARY = "product-canary"
"""A second product service, which a mesh can give a share of the calls."""
