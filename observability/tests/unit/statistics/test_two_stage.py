"""Intervals for a number of blocks that was decided during the run: the wider of two scatters counts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from hops.statistics.contrast import contrast, spread_if_independent
from hops.statistics.curve_crossings import Lines, curve_of, gap_between
from hops.statistics.intervals import t_quantile
from hops.statistics.over_blocks import Section, Spread, rate_section, sections_of, spread_of
from hops.statistics.two_stage import blocks_for, foreseen_half_width, half_width_of, of_first_stage, scatter_of

FIRST = 5
WIDE_FIRST = np.array([0.2, -0.2, 0.2, -0.2, 0.0, 0.01, -0.01, 0.01, -0.01, 0.0])
WIDE_LATER = np.array([0.01, -0.01, 0.01, -0.01, 0.0, 0.2, -0.2, 0.2, -0.2, 0.0])
"""Deviations with mean 0, both in the first blocks and in all blocks; the first blocks scatter more, or less."""


def test_by_stein_the_scatter_and_freedom_are_those_of_the_first_stage():
    spread = spread_of(WIDE_FIRST, FIRST)
    error = WIDE_FIRST[:FIRST].std(ddof=1) / math.sqrt(len(WIDE_FIRST))
    assert spread.half_width == pytest.approx(stats.t.ppf(0.975, FIRST - 1) * error)
    assert spread.p_value(0.1) == pytest.approx(2 * stats.t.sf(0.1 / error, FIRST - 1))


def test_scatter_that_the_first_stage_missed_counts_too():
    assert spread_of(WIDE_LATER, FIRST).half_width == spread_of(WIDE_LATER).half_width
    assert spread_of(WIDE_LATER, FIRST).p_value(0.1) == spread_of(WIDE_LATER).p_value(0.1)


def test_the_larger_p_counts_even_where_the_interval_is_the_other_s():
    # Far from 0, few degrees of freedom give the larger p; near 0, the larger error does.
    spread = Spread(0.1, 50, first_stage=Spread(0.09, 4))
    assert spread.half_width == Spread(0.09, 4).half_width
    assert spread.p_value(1.0) == Spread(0.09, 4).p_value(1.0)
    assert spread.p_value(0.05) == Spread(0.1, 50).p_value(0.05)
    assert spread.widest == Spread(0.09, 4)


@pytest.mark.parametrize("first", [None, len(WIDE_FIRST), len(WIDE_FIRST) + 5])
def test_blocks_that_were_fixed_beforehand_all_count_alike(first):
    assert spread_of(WIDE_FIRST, first) == Spread(pytest.approx(float(WIDE_FIRST.std(ddof=1)) / math.sqrt(10)), 9)


def test_a_bias_that_all_blocks_share_widens_the_interval():
    assert (of_first_stage(WIDE_FIRST + 0.3, FIRST)).mean() == pytest.approx(0.3 * math.sqrt(FIRST / 10))
    assert spread_of(WIDE_FIRST + 0.3, FIRST).half_width > spread_of(WIDE_FIRST, FIRST).half_width


def test_two_sides_are_paired_over_the_first_stage_and_independent_runs_have_separate_ones():
    left, right = (Section(10.0, 10 * np.exp(side), first=FIRST) for side in (WIDE_FIRST, WIDE_LATER))
    reach = spread_of(WIDE_FIRST - WIDE_LATER, FIRST).half_width
    assert contrast(left, right).ratio_interval == pytest.approx((math.exp(-reach), math.exp(reach)))
    sides = [spread_of(side, FIRST).widest for side in (WIDE_FIRST, WIDE_LATER)]
    apart = spread_if_independent(WIDE_FIRST, WIDE_LATER, first=(FIRST, FIRST))
    assert apart.error == pytest.approx(math.hypot(*(side.error for side in sides)))
    assert apart.freedom < spread_if_independent(WIDE_FIRST, WIDE_LATER).freedom


def test_sections_and_rates_know_their_first_stage():
    blocks = [np.full(20, 10 * math.exp(one)) for one in WIDE_FIRST]
    low, high = sections_of(blocks, first=FIRST)["mean"].interval
    narrow = sections_of(blocks)["mean"].interval
    assert low < narrow[0] < narrow[1] < high
    used = [(math.exp(one), 10) for one in WIDE_FIRST]
    assert rate_section(used, 1.0, FIRST).interval[1] > rate_section(used, 1.0).interval[1]


def test_blocks_of_few_rows_are_taken_together_within_the_first_stage_and_after_it():
    rng = np.random.default_rng(1)
    blocks = [rng.lognormal(0, 0.3, 15) for _ in range(20)]
    # A p90 takes 20 rows, so two blocks of 15.
    section = sections_of(blocks, first=9)["p90"]
    assert (section.by_block.size, section.first) == (8, 4)
    assert section.by_block[3] == pytest.approx(np.quantile(np.concatenate(blocks[7:9]), 0.9))
    assert section.by_block[4] == pytest.approx(np.quantile(np.concatenate(blocks[9:12]), 0.9))
    # One more block alone has too few rows for a separate section.
    section = sections_of(blocks[:10], first=9)["p90"]
    assert (section.by_block.size, section.first) == (4, 4)
    assert section.by_block[3] == pytest.approx(np.quantile(np.concatenate(blocks[7:10]), 0.9))
    # If the first stage has fewer than three sections, nothing shows how far later blocks should scatter.
    assert sections_of(blocks, first=5)["p90"].reason is not None


def test_curves_have_the_intervals_of_sections():
    blocks = [np.linspace(9, 11, 21) * math.exp(one) for one in WIDE_FIRST]
    other = [np.linspace(19, 21, 21) for _ in WIDE_FIRST]
    points = np.array([[0.0]])

    def curve(rows, first=None):
        return curve_of([Lines(one, np.zeros((one.size, 1))) for one in rows], points, first)

    left, right = curve(blocks, FIRST), curve(other, FIRST)
    assert left.ends[0] == pytest.approx(sections_of(blocks, first=FIRST)["p50"].interval)
    sections = [sections_of(side, first=FIRST)["p50"] for side in (blocks, other)]
    assert gap_between(left, right).p[0] == pytest.approx(contrast(*sections).p)
    assert gap_between(curve(blocks), curve(other)).p[0] < gap_between(left, right).p[0]


@pytest.mark.parametrize(
    ("half_width", "ran", "wanted", "blocks"),
    [(0.1, 5, 0.05, 20), (0.1, 5, 0.1, 5), (0.02, 5, 0.1, 5), (0.11, 10, 0.1, 13)],
)
def test_an_interval_narrows_with_the_root_of_the_blocks(half_width, ran, wanted, blocks):
    assert blocks_for(half_width, ran, wanted) == blocks


def test_a_precision_is_how_far_the_interval_reaches_beyond_the_ratio():
    ratio, reach = 1.3, half_width_of(0.05)
    assert ratio * math.exp(reach) == pytest.approx(ratio * 1.05)


def test_the_scatter_of_trials_follows_from_intervals_and_back():
    rng = np.random.default_rng(1)
    trials = rng.normal(0, 0.05, (4000, 2))
    half_width = spread_of(trials[:, 0] - trials[:, 1]).half_width
    assert scatter_of([half_width], 4000) == pytest.approx(0.05, rel=0.05)


def test_the_more_arms_the_wider_the_widest_interval():
    two, four = (foreseen_half_width(0.05, arms, 10) for arms in (2, 4))
    # The median of a standard deviation with nine degrees of freedom.
    middle = math.sqrt(stats.chi2.ppf(0.5, 9) / 9)
    assert two == pytest.approx(t_quantile(9) * 0.05 * math.sqrt(2 / 10) * middle, rel=0.02)
    assert 1.1 * two < four < 1.6 * two
