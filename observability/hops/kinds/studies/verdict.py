"""Judges a claim by its measured effect and the interval of that effect."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from hops.elements.numbers import figure, share, times
from hops.kinds.studies.document import Claim, Outcome, Size
from hops.statistics.correction import SIGNIFICANCE, correct_tests
from hops.statistics.intervals import Interval, t_quantile
from hops.statistics.student import two_sided
from hops.statistics.two_stage import blocks_for
from hops.units import ALL

MAX_BLOCKS = 100


@dataclass(frozen=True, slots=True)
class Effect:
    """The measured effect of a claim.

    Args:
        value: Left divided by right, or left minus right.
        p: Probability that chance alone shows an effect at least this large; None if it was not tested.
        freedom: Degrees of freedom of the interval; None if all blocks have the same ratio.
        difference: Whether the value is left minus right, in points.
        reason: Why there is no interval; None if there is one.
    """

    value: float | None
    interval: Interval
    p: float | None
    blocks: int
    difference: bool = False
    reason: str | None = None
    freedom: float | None = None

    @property
    def none(self) -> float:
        """The value that means no effect."""
        return 0.0 if self.difference else 1.0

    @property
    def text(self) -> str:
        """The effect with its interval."""
        if self.value is None:
            return ""
        return figure(self.value, self.interval, "points") if self.difference else times(self.value, self.interval)


@dataclass(frozen=True, slots=True)
class Judgement:
    """Judgement of a claim.

    Args:
        blocks: Number of blocks with an even chance to decide the claim; None if they are too many, or it is decided.
        p_unequal: If the sides are shown to be equal, the probability of such figures from sides that are not.
    """

    outcome: Outcome
    reason: str
    blocks: int | None = None
    p_unequal: float | None = None


def judge(claim: Claim, effect: Effect) -> Judgement:
    """Judges the direction of a claim: it holds if the whole interval is on the claimed side of no effect.

    It is contradicted if the whole interval is on the other side, or so near to no effect that the claim's tolerance
    counts it as none. It is not shown otherwise. The size of the effect is judged by `size_of`.
    """
    low, high = effect.interval
    if effect.value is None or low is None or high is None:
        return _without_interval(effect.reason or "nothing was measured")
    bounds = _claimed_range(claim, effect.none)
    if bounds[0] < low and high < bounds[1]:
        return Judgement("holds", f"The whole interval lies {_where(claim)}.")
    if high < bounds[0] or low > bounds[1]:
        return Judgement("contradicted", f"The whole interval lies {_where(claim, other=True)}.")
    equal = _equal_range(claim, effect.none)
    if equal and equal[0] < low and high < equal[1]:
        reason = f"Both sides are equal: the whole interval lies {_around(claim)}."
        return Judgement("contradicted", reason, p_unequal=_p_unequal(effect, equal))
    if low == high == effect.none:
        return Judgement("not shown", "Both sides are exactly equal: this load shows no difference either way.")
    needed = _blocks(effect, bounds, equal)
    count = f"about {needed}" if needed else f"more than {MAX_BLOCKS}"
    around = "the limits of the claim" if claim["relation"] == "eq" else "no effect"
    reason = f"The interval includes {around}; an even chance to decide it needs {count} blocks."
    return Judgement("not shown", reason, needed)


@dataclass(frozen=True, slots=True)
class Saturation:
    """Tests of one side at rising numbers of users, one for each step except the last.

    Args:
        grows: Probability (one-sided) of the measured throughputs if no later step has the gain that counts.
        full: Probability (one-sided) of the measured throughputs if some later step has at least that gain.
        reason: Why nothing was tested; None if it was.
    """

    grows: Sequence[float]
    full: Sequence[float]
    reason: str | None = None

    def describe(self, users: Sequence[int]) -> str:
        """Describes from how many users on throughput levels off: `above 10, at most 500`."""
        above = [count for count, p in zip(users, self.grows, strict=False) if 2 * p < SIGNIFICANCE]
        most = [count for count, p in zip(users, self.full, strict=False) if 2 * p < SIGNIFICANCE]
        parts = [f"above {above[-1]}"] if above else []
        return ", ".join([*parts, *([f"at most {most[0]}"] if most else [])]) or "unknown"


def p_earlier(first: Saturation, second: Saturation) -> float:
    """Tests that one side levels off earlier than another: at some step it is full, and the other still gains.

    Both must be shown, so the larger of both probabilities counts. The step is chosen after the measurement, so its
    probability is multiplied by the number of steps (Bonferroni), and doubled like all two-sided tests here.
    """
    both = [max(full, grows) for full, grows in zip(first.full, second.grows, strict=True)]
    return min(1.0, 2 * len(both) * min(both))


def judge_order(saturations: Sequence[Saturation]) -> tuple[Judgement, float | None, tuple[int, int] | None]:
    """Judges a claimed order by the users from which each side levels off.

    Returns:
        The judgement, its p value, and the two sides (from 0) that are shown to be in the other order, if any are.
    """
    if reason := next((saturation.reason for saturation in saturations if saturation.reason), None):
        return _without_interval(reason), None, None
    claimed = max(p_earlier(one, next_) for one, next_ in pairwise(saturations))  # all neighbours must be shown
    pairs = list(combinations(range(len(saturations)), 2))
    # One pair is enough.
    others = [min(1.0, len(pairs) * p_earlier(saturations[later], saturations[first])) for first, later in pairs]
    if claimed < SIGNIFICANCE:
        return Judgement("holds", "Each levels off later than the one before it."), claimed, None
    other = min(others)
    if other < SIGNIFICANCE:
        turned = pairs[others.index(other)]
        return Judgement("contradicted", "One levels off earlier than another that is named before it."), other, turned
    return (
        Judgement("not shown", "It is not shown for each pair which side levels off first."),
        min(claimed, other),
        None,
    )


def size_of(claim: Claim, effect: Effect) -> Size | None:
    """Compares the published ratio with the measured one; None if either is missing, or they are no ratios of the same.

    A study's ratio of CPU in percent says nothing about the size of a ratio of CPU per journey.
    """
    low, high = effect.interval
    if claim["metric"] == "cpu_percent" or claim["relation"] != "ratio" or claim["value"] is None:
        return None
    if not effect.value or low is None or high is None:
        return None
    first, last = ends_of(claim["value"])
    nearest = min(max(effect.value, first), last)
    return Size(inside=first <= high and low <= last, measured_over_published=effect.value / nearest)


def ends_of(value: float | list[float]) -> tuple[float, float]:
    """Gives both ends of a published value."""
    return (value[0], value[1]) if isinstance(value, list) else (value, value)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Corrects for multiple tests (S. Holm, *Scandinavian Journal of Statistics* 6, 1979); None stays None."""
    # Each test gets a different pair of sides, so that no test implies another.
    tests = {(ALL, f"{number} left", f"{number} right"): p for number, p in enumerate(p_values) if p is not None}
    result = {test: one.p for test, one in correct_tests(tests).items()}
    return [result.get((ALL, f"{number} left", f"{number} right")) for number in range(len(p_values))]


def _without_interval(why: str) -> Judgement:
    return Judgement("not shown", f"There is no interval: it {why}." if why.startswith("needs") else f"{why}.")


def _claimed_range(claim: Claim, none: float) -> tuple[float, float]:
    if claim["relation"] == "eq":
        tolerance = claim["tolerance"] or 0.0
        return (none - tolerance, none + tolerance)
    return (-math.inf, none) if _below(claim) else (none, math.inf)


def _equal_range(claim: Claim, none: float) -> tuple[float, float] | None:
    """Gives the effects that count as none, if the claim is about a difference and has a tolerance."""
    if claim["relation"] == "eq" or claim["tolerance"] is None:
        return None
    return (none - claim["tolerance"], none + claim["tolerance"])


def _p_unequal(effect: Effect, equal: tuple[float, float]) -> float:
    """Tests equality by two one-sided tests (D. J. Schuirmann, *J. Pharmacokinetics and Biopharmaceutics* 15, 1987).

    Like all p values here, it is below 5 % if and only if the 95 % interval is within the range.
    """
    low, high = effect.interval
    assert effect.value is not None
    assert low is not None
    assert high is not None
    if effect.freedom is None:
        return 0.0
    error = math.log(high / low) / 2 / t_quantile(effect.freedom)
    nearest = min(math.log(effect.value / equal[0]), math.log(equal[1] / effect.value))
    return two_sided(nearest / error, effect.freedom)


def _below(claim: Claim) -> bool:
    """Whether a claim says that left is lower than right."""
    if claim["relation"] == "ratio":
        assert claim["value"] is not None
        return ends_of(claim["value"])[0] < 1
    return claim["relation"] == "lt"


def _where(claim: Claim, *, other: bool = False) -> str:
    if claim["relation"] == "eq":
        return _around(claim, other=other)
    below = _below(claim) != other
    return f"{'below' if below else 'above'} no effect{', on the other side' if other else ''}"


def _around(claim: Claim, *, other: bool = False) -> str:
    return f"{'outside' if other else 'within'} {share(claim['tolerance'] or 0.0, 0)} of equal"


def _blocks(effect: Effect, bounds: tuple[float, float], equal: tuple[float, float] | None) -> int | None:
    """Estimates how many blocks an interval around the same effect needs to be decided; None if too many.

    It must exclude the nearest of the claim's bounds, or fit into the range that counts as equal.
    """
    low, high = effect.interval
    assert effect.value is not None
    assert low is not None
    assert high is not None
    nearest = _distance(effect, bounds)
    if equal and equal[0] < effect.value < equal[1]:
        nearest = max(nearest, _distance(effect, equal))
    half = (high - low) / 2 if effect.difference else math.log(high / low) / 2
    if not nearest:
        return None
    needed = blocks_for(half, effect.blocks, nearest)
    return needed if needed <= MAX_BLOCKS else None


def _distance(effect: Effect, edges: tuple[float, float]) -> float:
    """Computes the effect's distance from the nearest finite edge: the logarithm of a ratio, or a difference."""
    value = effect.value
    assert value is not None
    finite = [edge for edge in edges if math.isfinite(edge)]
    return min(abs(edge - value if effect.difference else math.log(edge / value)) for edge in finite)
