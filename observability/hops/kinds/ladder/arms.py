"""The arms of a ladder, and the two arms that each step compares.

Upwards, each arm adds one thing to the previous arm. Downwards, each arm removes one thing from the arm `edge`. `edge`
traces leanly: below it, `untraced` does not trace, and above it, `sdk` traces as services usually do. In a cluster, a
ladder has two arms: `edge` and, above it, the same with sidecars.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Final

KIND: Final = "ladder"
NO_EDGE, EDGE, SIDECARS, MTLS, ISTIO = "no-edge", "edge", "sidecars", "mtls", "istio"
UNTRACED, SDK, MEMORY, METRICS, UPDATES = "untraced", "sdk", "memory", "metrics", "updates"
CLUSTER, CLUSTER_ISTIO = "cluster", "cluster-istio"

UPWARDS = (NO_EDGE, EDGE, SIDECARS, MTLS, ISTIO)
TRACINGS = (UNTRACED, EDGE, SDK)
"""How services trace: not at all, leanly, or as usual. Any two of them make a step."""
ON_THIS_MACHINE = (*UPWARDS, UNTRACED, SDK, MEMORY)
ON_TOP = (METRICS, UPDATES)
"""Additions to `edge` that lead to no further arm; each is an arm only on request."""
IN_A_CLUSTER = (CLUSTER, CLUSTER_ISTIO)
ARMS = (*ON_THIS_MACHINE, *ON_TOP, *IN_A_CLUSTER)

ADDS = {
    EDGE: "edge",
    SIDECARS: "sidecars",
    MTLS: "mTLS",
    ISTIO: "Istio",
    UNTRACED: "tracing",
    SDK: "stock SDK",
    MEMORY: "database",
    METRICS: "metrics",
    UPDATES: "updates",
    CLUSTER: "cluster",
    CLUSTER_ISTIO: "Istio in the cluster",
}
"""What a step adds, by its lower arm for downward steps, and by its upper arm for all other steps."""


SWITCHES: Mapping[str, Mapping[str, str]] = {
    NO_EDGE: {"edge": "none"},
    SIDECARS: {"mesh": "envoy", "mtls": "off"},
    MTLS: {"mesh": "envoy", "mtls": "on"},
    ISTIO: {"mesh": "istio", "mtls": "on"},
    UNTRACED: {"trace": "0"},
    SDK: {"tracing": "sdk"},
    MEMORY: {"store": "memory"},
    METRICS: {"metrics": "on"},
    UPDATES: {"updates": "on"},
    CLUSTER: {"runtime": "kubernetes"},
    CLUSTER_ISTIO: {"runtime": "kubernetes", "mesh": "istio", "mtls": "on"},
}


@dataclass(frozen=True, slots=True)
class Step:
    """Two arms that differ in one thing, or in several if the user left out arms; `things` are keys of `ADDS`."""

    lower: str
    upper: str
    things: tuple[str, ...]

    @property
    def adds(self) -> str:
        """What the step adds, in words."""
        return " and ".join(ADDS[thing] for thing in self.things)


def steps_of(arms: Sequence[str]) -> list[Step]:
    """Makes the steps between the arms of an experiment, in any order; arms that are not in `ARMS` are ignored."""
    upwards = [arm for arm in UPWARDS if arm in arms]
    steps = [
        Step(lower, upper, UPWARDS[UPWARDS.index(lower) + 1 : UPWARDS.index(upper) + 1])
        for lower, upper in pairwise(upwards)
    ]
    steps += [
        Step(lower, upper, tuple(arm for arm in (lower, upper) if arm != EDGE))
        for lower, upper in combinations((arm for arm in TRACINGS if arm in arms), 2)
    ]
    if MEMORY in arms and EDGE in arms:
        steps.append(Step(MEMORY, EDGE, (MEMORY,)))
    steps += [Step(EDGE, arm, (arm,)) for arm in ON_TOP if arm in arms and EDGE in arms]
    return steps + [
        Step(lower, upper, (upper,))
        for lower, upper in pairwise((EDGE, *IN_A_CLUSTER))
        if lower in arms and upper in arms
    ]
