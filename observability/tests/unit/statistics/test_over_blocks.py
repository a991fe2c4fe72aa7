"""Intervals over blocks: known answers, laws, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hops.analysis.comparisons import superiority
from hops.statistics.contrast import contrast, spread_if_independent
from hops.statistics.over_blocks import Section, rate_section, refusal, sections_of

METRICS = ("mean", "p50", "p90", "p95", "p99")


def blocks_of(seed: int, blocks: int = 5, rows: int = 400, factor: float = 1.0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [factor * math.exp(rng.normal(0, 0.05)) * rng.lognormal(2, 0.5, rows) for _ in range(blocks)]


def test_an_interval_is_students_t_on_logarithms():
    found = Section(2.0, np.array([1.0, 2.0, 4.0])).interval
    expected = stats.t.interval(0.95, 2, math.log(2), stats.sem(np.log([1, 2, 4])))
    assert found == pytest.approx(np.exp(expected))


def test_figures_are_those_of_all_rows_together():
    blocks = blocks_of(1)
    pooled = np.concatenate(blocks)
    found = sections_of(blocks)
    assert found["mean"].value == pytest.approx(pooled.mean())
    assert found["p99"].value == pytest.approx(np.quantile(pooled, 0.99))
    for name in METRICS:
        low, high = found[name].interval
        assert low < found[name].value < high


@settings(max_examples=25)
@given(st.floats(1e-3, 1e3), st.integers(0, 50))
def test_intervals_scale_with_the_unit(factor, seed):
    plain, scaled = sections_of(blocks_of(seed)), sections_of([factor * block for block in blocks_of(seed)])
    for name in METRICS:
        assert scaled[name].interval == pytest.approx(tuple(factor * end for end in plain[name].interval))


def test_the_order_of_rows_and_blocks_changes_nothing():
    blocks = blocks_of(2)
    turned = [np.random.default_rng(3).permutation(block) for block in reversed(blocks)]
    for name in METRICS:
        assert sections_of(turned)[name].interval == pytest.approx(sections_of(blocks)[name].interval)


REFUSED = {
    "one block": (1, 10_000, 0.5, "needs 3 blocks, and there is 1"),
    "two blocks": (2, 10_000, None, "needs 3 blocks, and there are 2"),
    "too few for p99": (5, 999, 0.99, "needs 200 journeys in a block, and there are 199"),
    "far too few for p99": (5, 300, 0.99, "needs 200 journeys in a block, and there are 60"),
    "too few for p50": (3, 11, 0.5, "needs 4 journeys in a block, and there are 3"),
    "too few for a mean": (5, 20, None, "needs 5 journeys in a block, and there are 4"),
}


@pytest.mark.parametrize(("blocks", "rows", "share", "reason"), REFUSED.values(), ids=REFUSED)
def test_too_few_data_have_no_interval(blocks, rows, share, reason):
    assert refusal(blocks, rows, share) == reason


@pytest.mark.parametrize(("blocks", "rows", "share"), [(3, 15, None), (5, 1000, 0.99), (5, 200, 0.95), (3, 12, 0.5)])
def test_just_enough_data_have_one(blocks, rows, share):
    assert refusal(blocks, rows, share) is None


def test_a_figure_without_an_interval_is_still_there():
    found = sections_of(blocks_of(4, rows=60))
    assert found["p99"].value > 0
    assert found["p99"].interval == (None, None)
    assert found["p90"].interval != (None, None)


def test_blocks_with_too_few_rows_for_a_percentile_are_taken_together():
    blocks = blocks_of(4, blocks=10, rows=130)
    sections = sections_of(blocks)
    assert (sections["p95"].by_block.size, sections["p99"].by_block.size) == (10, 5)
    first = np.quantile(np.concatenate(blocks[:2]), 0.99)
    assert sections["p99"].by_block[0] == pytest.approx(first)
    assert sections["p99"].value == pytest.approx(np.quantile(np.concatenate(blocks), 0.99))
    # 66 rows: three sections of 3 or 4 blocks would be too small.
    refused = sections_of(blocks_of(4, blocks=10, rows=66))["p99"]
    assert (refused.interval, refused.reason) == ((None, None), "needs 667 journeys, and there are 660")


def test_two_sides_of_a_comparison_have_the_same_sections():
    many, few = blocks_of(4, blocks=10, rows=210), blocks_of(5, blocks=10, rows=190)
    assert sections_of(many)["p99"].by_block.size == 10
    assert sections_of(many, 190)["p99"].by_block.size == sections_of(few, 190)["p99"].by_block.size == 5


def test_a_block_without_a_journey_is_named():
    found = sections_of([*blocks_of(4), np.empty(0)])
    assert found["p50"].reason == "a block has no such journey"
    assert sections_of([np.empty(0)] * 3)["p50"].value is None
    assert sections_of([])["p50"].interval == (None, None)


@settings(max_examples=25)
@given(st.integers(0, 200))
def test_left_and_right_are_symmetric(seed):
    left, right = (sections_of(blocks_of(seed + side, factor=1 + side / 20)) for side in (0, 1))
    for name in METRICS:
        one, other = contrast(left[name], right[name]), contrast(right[name], left[name])
        assert other.difference == -one.difference
        assert other.ratio == pytest.approx(1 / one.ratio)
        assert other.interval == pytest.approx((-one.interval[1], -one.interval[0]))
        assert other.ratio_interval == pytest.approx((1 / one.ratio_interval[1], 1 / one.ratio_interval[0]))
        assert other.p == pytest.approx(one.p)


@settings(max_examples=25)
@given(st.integers(0, 300), st.floats(0.9, 1.1))
def test_p_is_below_five_percent_where_the_ratio_leaves_out_1(seed, factor):
    found = contrast(sections_of(blocks_of(seed))["p50"], sections_of(blocks_of(seed + 1000, factor=factor))["p50"])
    assert (found.p < 0.05) == (found.ratio_interval[0] > 1 or found.ratio_interval[1] < 1)


def test_restless_blocks_widen_a_difference_and_do_not_hide_it():
    quick = np.array([10.0, 14.0, 9.0, 10.0, 13.0])
    slow = 2.5 * quick * np.array([1.03, 0.98, 1.0, 0.97, 1.02])
    found = contrast(Section(2.5 * 11.0, slow), Section(11.0, quick))
    assert found.interval[1] - found.interval[0] > 0.4 * found.difference
    assert found.p < 0.0001


def test_what_a_block_does_to_both_sides_cancels():
    blocks = blocks_of(5)
    shifted = [block * factor for block, factor in zip(blocks, (1, 1.5, 0.7, 1.2, 0.9), strict=True)]
    noisy = [block * factor for block, factor in zip(shifted, (1.01, 0.99, 1.0, 1.01, 0.99), strict=True)]
    found = contrast(sections_of(noisy)["p50"], sections_of(shifted)["p50"])
    assert found.ratio_interval[1] - found.ratio_interval[0] < 0.05
    low, high = sections_of(shifted)["p50"].interval
    assert high - low > 0.5


def test_a_system_against_itself_does_not_differ():
    section = sections_of(blocks_of(6))["p90"]
    found = contrast(section, section)
    assert (found.difference, found.ratio, found.p) == (0, 1, 1)
    assert found.interval == (0, 0)


def test_blocks_that_do_not_scatter_prove_nothing():
    found = contrast(Section(1.0, np.ones(5)), Section(2.0, 2 * np.ones(5)))
    assert (found.p, found.reason) == (None, "the blocks do not scatter")


@pytest.mark.parametrize(
    ("b", "reason"), [(2 * np.ones(5), "the sections do not scatter"), (np.arange(5), "one side is 0 in a section")]
)
def test_a_reason_names_what_the_values_are_of(b, reason):
    assert contrast(Section(1.0, np.ones(5)), Section(2.0, b), spread_if_independent, unit="section").reason == reason


def test_without_values_nothing_is_compared():
    found = contrast(sections_of([])["p50"], sections_of(blocks_of(7))["p50"])
    assert (found.difference, found.p) == (None, None)
    assert found.reason == "there is no journey that ended ok"


def test_a_rate_is_weighed_by_journeys_and_has_an_interval():
    found = rate_section([(1.0, 100), (1.1, 100), (4.0, 400)], 1e3)
    assert found.value == pytest.approx(6.1 / 600 * 1e3)
    assert found.by_block == pytest.approx([10, 11, 10])
    assert found.interval[0] < found.value < found.interval[1]
    assert rate_section([(0.0, 100), (1.0, 100), (1.0, 100)], 1.0).reason == "nothing was used in a block"
    assert rate_section([], 1.0).value is None


def test_superiority_counts_pairs_and_half_of_the_ties():
    assert superiority(np.array([1.0, 2.0]), np.array([2.0, 3.0])) == pytest.approx(3.5 / 4)
    assert superiority(np.array([1.0]), np.array([1.0, 1.0])) == 0.5
    assert superiority(np.array([]), np.array([1.0])) is None
