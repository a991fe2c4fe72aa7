"""How two systems differ: their latencies, and the parts of their budgets."""

from __future__ import annotations

from typing import Literal, TypedDict

Finding = Literal["left_lower", "right_lower", "lower", "higher", "not_shown", "unknown"]
"""What a comparison shows. Of two topologies it names the lower one, of two runs it says what b is."""


class Tested(TypedDict):
    """What is known of a difference: how large, how sure.

    `p` belongs to the ratio, with `freedom` degrees of freedom of Student's t; `p_corrected` is `p` after the
    correction for all comparisons of the metric. `visible_ratio` is the smallest ratio above 1 that this run would have
    shown with 80 % power; it stands for its inverse, too. `effect` is the probability that a journey of the left, or of
    run b, is faster than one of the other side (ties half): 0.5 where neither is faster; None for `cpu_ms`.
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
    """One metric of one journey, of two systems.

    `metric` is `mean` or a percentile of the latency, in ms, or `cpu_ms` for a journey (journey `all` only). `verdict`
    names the lower or the higher side if `p_corrected` is below 5 %, else it is `not_shown`; `unknown` where nothing
    could be tested, with `reason`.
    """

    journey: str
    metric: str
    verdict: Finding
    reason: str | None


class Comparison(Difference):
    """One metric of one journey, of two topologies: `difference` is left minus right, `ratio` left divided by right."""

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
    """Why the mean of two topologies' traced journeys differs: the parts add up to the whole.

    `parts` are those of the hop budget, largest difference first; `groups` are the same by what they are
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
