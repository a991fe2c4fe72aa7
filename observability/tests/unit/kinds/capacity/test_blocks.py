"""The combined result of searches in several blocks."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from hops.kinds.capacity.blocks import rate_held, rate_ratio
from proofs.statistics.searches import SLOWER, run_experiment

PRECISION = 1.05


def test_what_is_held_is_the_geometric_mean_with_an_interval() -> None:
    held = rate_held([80.0, 100.0, 125.0], PRECISION)
    assert held["value"] == pytest.approx(100.0)
    low, high = held["ci95"]
    assert low * high == pytest.approx(100.0**2)
    assert low < 80


def test_equal_rates_may_hide_as_much_as_a_search_resolves() -> None:
    ratio = rate_ratio([105.0] * 5, [100.0] * 5, PRECISION)
    low, high = ratio["ci95"]
    assert 1.0 < low < 1.05 < high < 1.1


def test_blocks_without_a_rate_are_left_out_and_two_have_no_interval() -> None:
    ratio = rate_ratio([100.0, None, 100.0], [50.0, 50.0, 50.0], PRECISION)
    assert ratio == {"value": pytest.approx(2.0), "ci95": [None, None]}
    assert rate_held([None, None], PRECISION) is None


def test_equal_systems_are_seldom_shown_to_differ_and_others_are() -> None:
    counts = sum(map(run_experiment, np.random.SeedSequence(2).spawn(40)), Counter[tuple[str, str]]())
    equal, slower = SLOWER
    assert counts[equal, "blocks"] <= 0.15 * counts[equal, "of"]
    assert counts[slower, "blocks"] >= 0.5 * counts[slower, "of"]
