"""The combined result of searches in several blocks."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from hops.kinds.capacity.blocks import rate_held, rate_ratio, widest_step
from hops.kinds.capacity.search import NO_RESULT, Bounds, SearchResult, Seen, climb, confirm
from proofs.statistics.searches import SLOWER, run_experiment

BOUNDS = Bounds(20.0, 1000.0)
PRECISION = BOUNDS.precision


def search(held: float) -> SearchResult:
    """Searches for the rate that a system holds; in the shorter replays of the search, it holds 3 more."""
    bracket = climb(lambda rate: Seen(rate, rate <= held + 3.0, clear=True), BOUNDS)
    return confirm(lambda rate: Seen(rate, rate <= held), bracket, BOUNDS)


def test_what_is_held_is_the_geometric_mean_with_an_interval() -> None:
    held = rate_held([80.0, 100.0, 125.0], PRECISION)
    assert held["value"] == pytest.approx(100.0)
    low, high = held["ci95"]
    assert low * high == pytest.approx(100.0**2)
    assert low < 80


@pytest.mark.parametrize("blocks", [3, 20])
def test_equal_rates_may_hide_as_much_as_a_search_resolves(blocks: int) -> None:
    assert rate_ratio([105.0] * blocks, [100.0] * blocks, PRECISION)["ci95"] == pytest.approx([1.0, 1.05**2])


def test_a_weaker_system_is_not_shown_to_hold_more_because_of_the_rates_that_were_tried() -> None:
    weaker, stronger = search(100.0), search(102.0)
    assert (weaker.rate, weaker.failed, stronger.rate, stronger.failed) == (99.5, 104.0, 93.6, 104.0)
    step = widest_step([weaker, stronger], PRECISION)
    low, high = rate_ratio([weaker.rate] * 5, [stronger.rate] * 5, step)["ci95"]
    assert low < 1 < high


def test_a_step_is_at_least_the_precision() -> None:
    assert widest_step([NO_RESULT], PRECISION) == PRECISION


def test_blocks_without_a_rate_are_left_out_and_two_have_no_interval() -> None:
    ratio = rate_ratio([100.0, None, 100.0], [50.0, 50.0, 50.0], PRECISION)
    assert ratio == {"value": pytest.approx(2.0), "ci95": [None, None]}
    assert rate_held([None, None], PRECISION) is None


def test_equal_systems_are_seldom_shown_to_differ_and_others_are() -> None:
    counts = sum(map(run_experiment, np.random.SeedSequence(2).spawn(40)), Counter[tuple[str, str]]())
    equal, slower = SLOWER
    assert counts[equal, "blocks"] <= 0.15 * counts[equal, "of"]
    assert counts[slower, "blocks"] >= 0.5 * counts[slower, "of"]
