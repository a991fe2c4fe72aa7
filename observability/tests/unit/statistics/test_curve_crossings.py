"""Medians of lines, and where two medians cross, for rows whose crossing is known."""

from __future__ import annotations

import numpy as np
import pytest

from hops.statistics.curve_crossings import Lines, curve_of, gap_between
from hops.statistics.over_blocks import sections_of

GRID = np.arange(0.0, 101.0)


def blocks(centre, trips, *, rng, count=5, rows=200, shift=0.02):
    """Lines around a median, each block shifted by a different factor."""
    starts = [centre * np.exp(rng.normal(0, shift) + rng.normal(0, 0.3, rows)) for _ in range(count)]
    return [Lines(ms, np.full((rows, 1), float(trips))) for ms in starts]


def curve(*args, **kwargs):
    return curve_of(blocks(*args, **kwargs), GRID[None, :])


def test_medians_of_mixed_slopes_are_those_of_each_point():
    rng = np.random.default_rng(1)
    lines = Lines(rng.lognormal(2, 0.5, 501), rng.integers(1, 4, (501, 1)).astype(float))
    each = [np.median(lines.starts + lines.costs[:, 0] * at) for at in GRID]
    assert lines.medians(GRID[None, :]) == pytest.approx(each)


def test_the_interval_of_a_curve_is_that_of_the_same_rows_without_a_curve():
    rows = blocks(10, 2, rng=np.random.default_rng(2))
    over = curve_of(rows, GRID[None, :])
    for at in (0, 40):
        section = sections_of([block.starts + 2 * at for block in rows])["p50"]
        assert over.values[at] == pytest.approx(section.value)
        assert over.ends[at] == pytest.approx(list(section.interval))


def test_two_curves_cross_where_round_trips_make_up_for_own_time():
    rng = np.random.default_rng(3)
    gap = gap_between(curve(20, 1, rng=rng), curve(10, 2, rng=rng))
    (near, far) = gap.lower(GRID)
    assert gap.crossing(GRID) == pytest.approx(10, abs=1)
    assert (near[0], near[1], far[0], far[2]) == (False, 0.0, True, 100.0)
    assert near[2] < gap.crossing(GRID) < far[1]


def test_equal_slopes_never_cross():
    rng = np.random.default_rng(4)
    gap = gap_between(curve(10, 1, rng=rng), curve(20, 1, rng=rng))
    assert gap.crossing(GRID) is None
    assert gap.lower(GRID) == [(True, 0.0, 100.0)]


def test_a_few_blocks_give_figures_and_no_test():
    rng = np.random.default_rng(5)
    few = curve(20, 1, rng=rng, count=2)
    gap = gap_between(few, curve(10, 2, rng=rng, count=2))
    assert few.ends[0] == [None, None]
    assert gap.crossing(GRID) == pytest.approx(10, abs=2)
    assert gap.lower(GRID) == []
    assert gap.reason == "needs 3 blocks, and there are 2"


def test_rows_that_the_network_explains_more_than_whole_have_no_interval():
    rows = [Lines(np.full(50, -1.0), np.ones((50, 1))) for _ in range(3)]
    assert curve_of(rows, GRID[None, :]).reason == "a median would not be above 0"
    assert curve_of([], GRID[None, :]) is None
