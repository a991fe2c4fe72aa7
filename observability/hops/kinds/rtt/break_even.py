"""Break-even distances that the model predicts, compared with the measured ones.

A break-even is where the medians of two topologies cross within the measured distances, according to the model or to
the measurements. Measured medians are interpolated between the measured round-trip times, block by block. A block moves
a crossing by as much as it moves the difference there, divided by the slope of the difference over the distance. The
joint interval of two break-evens comes from how far each block moves the first, minus how far it moves the second
(`hops.statistics.over_blocks`), so that a block's common effect cancels.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from hops.analysis.break_even import between, break_evens
from hops.analysis.travel import AT_EDGE, Medians
from hops.kinds.rtt.document import BreakEvenCheck
from hops.run.documents.distance import BreakEven
from hops.run.documents.estimate import Agreement, Estimate, agreement
from hops.run.network import Network
from hops.statistics.curve_crossings import Curve, gap_between
from hops.statistics.intervals import Floats
from hops.statistics.over_blocks import spread_of

_PIECES = 200
"""Number of intervals into which the range of measured distances is divided."""
_REACH = 0.05
"""Share of the range, on each side of a crossing, over which the slope of the difference is taken."""


def break_even_checks(
    rtts_ms: Floats,
    travel: Mapping[str, pl.DataFrame],
    measured: Mapping[tuple[str, str], Curve],
    round_trips: Mapping[str, Mapping[str, float]],
) -> list[BreakEvenCheck]:
    """Compares the predicted break-even of each journey and pair with the measured break-even.

    Args:
        travel: Journeys of the nearest arms as returned by `analysis.travel`, by topology in the user's order.
        measured: Measured p50 at each round-trip time, by journey and topology.
    """
    grid = np.union1d(np.linspace(rtts_ms[0], rtts_ms[-1], _PIECES + 1), rtts_ms)
    medians = Medians(travel, AT_EDGE, [Network(rtt_ms=rtt_ms) for rtt_ms in grid.tolist()])
    model = {(journey, name): one for journey in medians.journeys for name, one in medians.curves(journey).items()}
    fact = {key: between(curve, rtts_ms, grid) for key, curve in measured.items()}
    gaps = {pair: gap for pair, gap in medians.gaps().items() if all((pair[0], name) in fact for name in pair[1:])}
    predicted = break_evens(gaps, round_trips, grid)
    seen = break_evens({pair: gap_between(*_sides(fact, *pair)) for pair in gaps}, round_trips, grid)
    return [
        break_even_check(journey, ours, theirs, _joint(journey, ours, theirs, model, fact, grid))
        for journey in predicted
        for ours, theirs in zip(predicted[journey], seen[journey], strict=True)
    ]


def break_even_check(
    journey: str, predicted: BreakEven, measured: BreakEven, difference: Estimate | None
) -> BreakEvenCheck:
    """Compares a predicted break-even with the measured break-even.

    Args:
        measured: The measured break-even of the same left and right, over the same range.
        difference: Measured minus predicted, ms; None unless both are shown.
    """
    verdict = _without_break_evens(predicted, measured) if difference is None else agreement(difference["ci95"])
    return BreakEvenCheck(
        journey=journey,
        predicted=predicted,
        measured=measured,
        difference=difference,
        verdict=verdict,
        reason=measured["reason"] or predicted["reason"],
    )


def _sides(curves: Mapping[tuple[str, str], Curve], journey: str, left: str, right: str) -> tuple[Curve, Curve]:
    return curves[journey, left], curves[journey, right]


def _joint(
    journey: str,
    predicted: BreakEven,
    measured: BreakEven,
    model: Mapping[tuple[str, str], Curve],
    fact: Mapping[tuple[str, str], Curve],
    grid: Floats,
) -> Estimate | None:
    """Computes measured minus predicted, if both show that one topology is faster from a distance on."""
    if predicted["verdict"] != "from" or measured["verdict"] != "from":
        return None
    if predicted["at_ms"] is None or measured["at_ms"] is None:
        return None
    pair = journey, measured["left"], measured["right"]
    moves = _moves(*_sides(fact, *pair), measured["at_ms"], grid) - _moves(
        *_sides(model, *pair), predicted["at_ms"], grid
    )
    value = measured["at_ms"] - predicted["at_ms"]
    return Estimate(value=value, ci95=list(spread_of(moves).around(value)))


def _moves(left: Curve, right: Curve, at_ms: float, grid: Floats) -> Floats:
    """Computes how far each block moves the point at which two curves cross, to first order."""
    assert left.by_block is not None
    assert right.by_block is not None
    reach = _REACH * (grid[-1] - grid[0])
    ends = np.clip([at_ms - reach, at_ms + reach], grid[0], grid[-1])
    growth = np.diff(np.interp(ends, grid, left.values - right.values)) / np.diff(ends)
    apart = np.array([np.interp(at_ms, grid, row) for row in left.by_block - right.by_block])
    return np.asarray(-apart / growth)


def _without_break_evens(predicted: BreakEven, measured: BreakEven) -> Agreement:
    """Returns whether two verdicts agree if at most one of them shows a break-even."""
    for mine in measured["stretches"]:
        for other in predicted["stretches"]:
            overlap_ms = min(mine["to_ms"], other["to_ms"]) - max(mine["from_ms"], other["from_ms"])
            if mine["sooner"] != other["sooner"] and overlap_ms > 0:
                return "differ"
    same = measured["verdict"] == predicted["verdict"] and measured["verdict"] in ("always", "never")
    return "agree" if same else "unknown"
