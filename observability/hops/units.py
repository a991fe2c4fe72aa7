"""Units and names that all of `hops` shares."""

from __future__ import annotations

NS_PER_MS = 1e6

#: The name of the whole mix among the journeys.
ALL = "all"

#: The shop's services, by their names in traces.
SERVICES = ("product", "order", "user", "payment")

#: A second product service, which a mesh can give a share of the calls.
CANARY = "product-canary"
