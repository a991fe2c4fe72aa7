"""The distance between customer and edge, or the rate, at which the ranking of two topologies flips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hops.analysis.latencies import Latencies
from hops.run.documents.distance import BreakEven, Stretch, Turning
from hops.statistics.correction import SIGNIFICANCE, correct_tests
from hops.statistics.curve_crossings import Curve, Gap
from hops.statistics.intervals import PERCENTILES, Floats
from hops.statistics.over_blocks import refusal


class Test(NamedTuple):
    """A comparison of two topologies over distance; `left` has fewer round trips, unless they are `equal`."""

    journey: str
    left: str
    right: str
    gap: Gap
    equal: bool


def measured_curve(arms: Sequence[Latencies], journey: str, blocks: Sequence[int], metric: str = "p50") -> Curve | None:
    """Computes one topology's figure at each of several points; None if a point has no journey that ended ok.

    Args:
        blocks: The blocks to use, the same for all curves that are compared.
    """
    rows = min(latencies.pool(journey, blocks).size for latencies in arms)
    sections = [latencies.sections(journey, blocks)[metric] for latencies in arms]
    values = [section.value for section in sections if section.value is not None]
    if len(values) < len(sections):
        return None
    # Each block counts separately, as in a prediction: with this many rows, blocks are not pooled.
    reason = refusal(len(blocks), rows, PERCENTILES.get(metric)) or next(
        (section.reason for section in sections if section.reason), None
    )
    by_block = None if reason else np.stack([section.by_block for section in sections], axis=1)
    return Curve(np.array(values), by_block, reason)


def between(curve: Curve, points: Floats, grid: Floats) -> Curve:
    """Interpolates a curve linearly on a finer grid."""
    by_block = None if curve.by_block is None else np.array([np.interp(grid, points, row) for row in curve.by_block])
    return Curve(np.interp(grid, points, curve.values), by_block, curve.reason)


def break_evens(
    gaps: Mapping[tuple[str, str, str], Gap], round_trips: Mapping[str, Mapping[str, float]], grid: Floats
) -> dict[str, list[BreakEven]]:
    """Finds which topology of each pair is faster, by distance.

    The tests at the nearest and at the farthest distance are corrected together, over all pairs and journeys. Each
    result covers the distances whose separate tests still show it. A break-even needs only one test, at the true
    distance, so its interval contains that distance in 95 % of cases without a correction.

    Args:
        grid: Round-trip times, ms.
    """
    tests = [_orient(journey, left, right, gap, round_trips[journey]) for (journey, left, right), gap in gaps.items()]
    known = {test[:3]: test.gap for test in tests if test.gap.reason is None}
    nearest, farthest = (correct_tests({key: float(gap.p[end]) for key, gap in known.items()}) for end in (0, -1))
    rows: dict[str, list[BreakEven]] = {}
    for test in tests:
        ends = [end[test[:3]].p if test[:3] in end else None for end in (nearest, farthest)]
        rows.setdefault(test.journey, []).append(_row(test, grid, ends))
    return rows


def _orient(journey: str, left: str, right: str, gap: Gap, round_trips: Mapping[str, float]) -> Test:
    saved = round_trips[right] - round_trips[left]
    # Both are means of counts: the same plan gives the same mean, except for the order of summation.
    equal = abs(saved) < 1e-9
    if saved > 0 or equal:
        return Test(journey, left, right, gap, equal)
    return Test(journey, right, left, Gap(-gap.difference, -gap.high, -gap.low, gap.p, gap.reason), equal)


def _row(test: Test, grid: Floats, p_corrected: list[float | None]) -> BreakEven:
    stretches = _find_stretches(test, grid, [p is not None and p < SIGNIFICANCE for p in p_corrected])
    verdict, faster, ends = _verdict(test, stretches, grid)
    return BreakEven(
        left=test.left,
        right=test.right,
        verdict=verdict,
        sooner=faster,
        at_ms=test.gap.crossing(grid),
        ci95_ms=ends,
        stretches=stretches,
        p_corrected=p_corrected,
        reason=test.gap.reason,
    )


def _find_stretches(test: Test, grid: Floats, shown: list[bool]) -> list[Stretch]:
    """Finds the stretches in which one topology is shown to be faster.

    A stretch that reaches an end of the range counts if the test at that end confirms it. If it reaches both ends, and
    only one is confirmed, only that end counts. A stretch that reaches no end counts if it lies between two stretches
    of the other topology: the ranking flips twice. Next to a stretch of the same topology, it only says that the two
    curves are close there.
    """
    every = [
        Stretch(sooner=test.left if is_left else test.right, from_ms=begin, to_ms=end)
        for is_left, begin, end in test.gap.lower(grid)
    ]
    if any(shown) and not all(shown):
        end = float(grid[0] if shown[0] else grid[-1])
        if every and (every[0]["from_ms"], every[0]["to_ms"]) == (grid[0], grid[-1]):
            return [Stretch(sooner=every[0]["sooner"], from_ms=end, to_ms=end)]
    near = [one for one in every if one["from_ms"] == grid[0] and shown[0]]
    far = [one for one in every if one["to_ms"] == grid[-1] and shown[1] and one not in near]
    sides = {one["sooner"] for one in (*near, *far)}
    if near and far and len(sides) == 1:
        near += [one for one in every if one["sooner"] not in sides]
    return [*near, *far]


def _verdict(test: Test, stretches: list[Stretch], grid: Floats) -> tuple[Turning, str | None, list[float | None]]:
    """Returns the verdict, the topology that it names, and the interval of the break-even."""
    if test.gap.reason is not None:
        return "unknown", None, [None, None]
    if not stretches:
        return "not_shown", None, [None, None]
    first, last = stretches[0], stretches[-1]
    if len(stretches) > 2:
        return "several", None, [None, None]
    # The ranking flips only if each topology is shown to be faster somewhere.
    if first["sooner"] != last["sooner"]:
        return "from", last["sooner"], [first["to_ms"], last["from_ms"]]
    if last["to_ms"] < grid[-1]:
        return "up_to", first["sooner"], [first["to_ms"], None]
    if first["from_ms"] > grid[0]:
        return "beyond", last["sooner"], [None, last["from_ms"]]
    return "never" if first["sooner"] == test.right and not test.equal else "always", first["sooner"], [None, None]
