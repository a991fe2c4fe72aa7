"""Figures over sections of time, and the distribution that gives their intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from hops.statistics import student
from hops.statistics.in_time import difference, in_time, interval_of, least_rows


@pytest.mark.parametrize("freedom", [1, 2, 3.7, 7, 22, 99])
@pytest.mark.parametrize("t", [0.0, 0.3, 2.2, 12.0])
def test_students_t_is_that_of_scipy(freedom, t):
    assert student.two_sided(-t, freedom) == pytest.approx(2 * special.stdtr(freedom, -t), rel=1e-6)


@pytest.mark.parametrize("freedom", [1, 2, 3.7, 7, 22, 99])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.9995])
def test_its_quantiles_are_those_of_scipy(freedom, confidence):
    expected = special.stdtrit(freedom, (1 + confidence) / 2)
    assert student.quantile(confidence, freedom) == pytest.approx(expected, rel=1e-6)


def test_sections_are_neighbours_in_time():
    section = in_time(np.repeat(np.arange(1.0, 9), 10), np.mean, least_rows(None))
    assert section.value == 4.5
    assert section.by_block.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


def test_too_few_rows_have_a_value_and_say_how_many_it_takes():
    section = in_time(np.ones(599), np.max, least_rows(0.99))
    assert (section.value, section.reason) == (1.0, "needs 600 traces, and there are 599")
    assert interval_of(section) == (None, None)
    assert in_time(np.ones(600), np.max, least_rows(0.99)).reason is None
    assert in_time(np.empty(0), np.mean, 5).reason == "there is no such trace"


@pytest.mark.parametrize("least", [0.0, 1.0])
def test_an_interval_contains_the_true_mean_as_often_as_it_says(least):
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(400):
        rows = least * 2 + rng.exponential(1.0, 400) * (rng.random(400) < (1 if least else 0.02))
        low, high = interval_of(in_time(rows, np.mean, 5))
        held += low <= least * 2 + (1 if least else 0.02) <= high
    assert 0.85 < held / 400 < 0.99


def test_other_rows_are_in_a_wider_interval():
    section = in_time(np.random.default_rng(5).exponential(1.0, 400), np.mean, 5)
    (low, high), (lower, higher) = interval_of(section), interval_of(section, ahead=1.0)
    assert np.log(higher / lower) == pytest.approx(np.log(high / low) * 2**0.5)
    assert interval_of(section, confidence=0.99)[0] < low


def test_differences_of_what_is_mostly_nothing_have_intervals():
    rng = np.random.default_rng(5)
    nothing, some = in_time(np.zeros(200), np.mean, 5), in_time(rng.random(200), np.mean, 5)
    size, (low, high), p = difference(nothing, some)
    assert low < size < high
    assert low > 0.3
    assert p < 0.001
    assert difference(in_time(np.zeros(5), np.mean, 5), some)[1:] == ((None, None), None)
