"""Units and names shared by all of `hops`."""

from __future__ import annotations

NS_PER_MS, NS_PER_S = 1e6, 1e9
NS_PER_UNIT = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": NS_PER_MS, "s": NS_PER_S}
"""Nanoseconds per unit, for each unit in which people write times."""

ALL = "all"
"""Name of the whole mix, where the name of a journey could be given."""

SERVICES = ("product", "order", "user", "payment", "notification")
"""Names of the shop's services in traces."""

CANARY = "product-canary"
"""A second product service, to which a mesh can route a share of the calls."""
