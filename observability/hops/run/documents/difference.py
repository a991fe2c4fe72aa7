"""How two systems differ: their latencies, and the parts of their budgets."""

from __future__ import annotations

from typing import Literal, TypedDict

Finding = Literal["left_lower", "right_lower", "lower", "higher", "not_shown", "unknown"]
"""What a comparison shows. For two topologies it names the lower one; for two runs it says how B differs."""


class Tested(TypedDict):
    """A tested difference: how large it is, and how certain.

    `p` belongs to the ratio, with `freedom` degrees of freedom of Student's t; `p_corrected` is `p` after the
    correction for all comparisons of the metric. `visible_ratio` is the smallest ratio above 1 that this run would have
    shown with 80 % power; the same holds for its inverse. `effect` is the probability that a journey of the left side,
    or of run B, is faster than a journey of the other side. Ties count half, so it is 0.5 if neither is faster. It is
    None for `cpu_ms`.
    """

    difference: float | None
    ci95: list[float | None]
    ratio: float | None
    ratio_ci95: list[float | None]
    p: float | None
    p_corrected: float | None
    freedom: float | None
    visible_ratio: float | None
    effect: float | None


class Difference(Tested):
    """One metric of one journey in two systems.

    `metric` is `mean` or a percentile of the latency, in ms, or `cpu_ms`, the CPU time per journey (only for `all`).
    `verdict` names the lower or the higher side if `p_corrected` is below 5 %; otherwise it is `not_shown`. It is
    `unknown`, with a `reason`, if nothing could be tested.
    """

    journey: str
    metric: str
    verdict: Finding
    reason: str | None


class Comparison(Difference):
    """One metric of one journey in two topologies: `difference` is left minus right, `ratio` left divided by right."""

    left: str
    right: str
    left_value: float | None
    right_value: float | None


class PartDifference(TypedDict):
    """One part of the budget: left minus right, ms, with its interval over blocks."""

    part: str
    left_ms: float
    right_ms: float
    difference_ms: float
    ci95: list[float | None]


class HopDifference(TypedDict):
    """Why the mean of two topologies' traced journeys differs: the parts add up to the whole difference.

    `parts` are those of the hop budget, the largest difference first; `groups` are their sums by group
    (`hops.budget.groups.GROUPS`), and add up too.
    """

    journey: str
    left: str
    right: str
    traces: list[int]
    difference_ms: float
    ci95: list[float | None]
    parts: list[PartDifference]
    groups: list[PartDifference]
