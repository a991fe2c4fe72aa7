"""Statistics compared with values known from elsewhere, and how often intervals contain the true value."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hops.errors import NotEnoughDataError
from hops.statistics.intervals import PERCENTILES, describe, mean_interval, percentile_interval


def test_percentiles_of_one_to_hundred_and_one():
    figures, intervals = describe(np.arange(1, 102))
    assert figures == pytest.approx({"mean": 51, "p50": 51, "p90": 91, "p95": 96, "p99": 100, "p99_9": 100.9})
    assert list(intervals) == list(figures)


def test_median_interval_of_hundred_is_the_textbook_one():
    # Binomial(100, 1/2): the 40th and the 61st value enclose the median with 96.5 %, the 41st and 60th with 94.3 %.
    assert percentile_interval(np.arange(1, 101), 0.5) == (40, 61)


@pytest.mark.parametrize(("count", "known"), [(367, False), (368, True)])
def test_an_upper_end_of_p99_needs_368_values(count, known):
    low, high = percentile_interval(np.arange(count), 0.99)
    assert low is not None
    assert (high is not None) == known


def test_small_samples_leave_ends_open():
    assert percentile_interval([1.0, 2.0, 3.0], 0.5) == (None, None)
    assert percentile_interval([], 0.5) == (None, None)
    assert mean_interval([1.0]) == (None, None)
    with pytest.raises(NotEnoughDataError):
        describe([])


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=400))
def test_an_interval_holds_its_own_figure(sample):
    figures, intervals = describe(sample)
    for name in PERCENTILES:
        low, high = intervals[name]
        assert low is None or low <= figures[name]
        assert high is None or figures[name] <= high


@pytest.mark.parametrize(("name", "least"), [("p99_9", 26), ("p99", 3), ("p50", 1)])
def test_a_percentile_that_lies_beyond_all_values_is_not_known(name, least):
    assert [describe(np.arange(count))[0][name] is None for count in (least - 1, least) if count] == (
        [True, False] if least > 1 else [False]
    )


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_percentile_intervals_hold_the_truth_as_often_as_they_say(share):
    rng = np.random.default_rng(11)
    truth = stats.lognorm(s=1.0).ppf(share)
    held = 0
    for _ in range(400):
        low, high = percentile_interval(rng.lognormal(size=120), share)
        held += (low is None or low <= truth) and (high is None or truth <= high)
    # Coverage exceeds the requested 95 %, because there are few order statistics; 400 tries scatter by 1.1 %.
    assert 0.935 <= held / 400 <= 0.995


def test_mean_interval_agrees_with_students_t_on_a_normal_sample():
    sample = np.random.default_rng(3).normal(10, 2, 400)
    low, high = mean_interval(sample, seed=1)
    expected = stats.t.interval(0.95, 399, sample.mean(), stats.sem(sample))
    assert (low, high) == pytest.approx(expected, abs=0.05)
    assert mean_interval(sample, seed=1) == (low, high)
