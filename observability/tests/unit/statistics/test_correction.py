"""The correction for multiple comparisons: textbook answers, laws, and what a difference lacks to be shown."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hops.statistics.correction import MIX_SHARE, SIGNIFICANCE, correct_tests

FOUR = list(combinations("abcd", 2))
JOURNEYS = ("all", "browse", "login")


def p_of(tests):
    return {key: result.p for key, result in correct_tests(tests).items()}


def random_tests(seed, pairs=FOUR, journeys=JOURNEYS):
    rng = np.random.default_rng(seed)
    return {(journey, *pair): float(rng.random() ** rng.choice([1, 4, 12])) for journey in journeys for pair in pairs}


def holm(p_values):
    """Holm's procedure as in textbooks."""
    least, results = 0.0, {}
    for left, key in zip(range(len(p_values), 0, -1), sorted(p_values, key=lambda key: p_values[key]), strict=True):
        least = max(least, left * p_values[key])
        results[key] = min(1.0, least)
    return results


def test_systems_that_are_not_compared_with_each_other_are_corrected_as_holm_does():
    tests = {("browse", f"{at}", f"{at}'"): p for at, p in enumerate((0.01, 0.04, 0.03, 0.005))}
    assert p_of(tests) == pytest.approx(holm(tests))
    assert correct_tests({}) == {}


def test_too_many_systems_to_enumerate_are_corrected_as_holm_does():
    tests = random_tests(3, list(combinations("abcdefghij", 2)), ("all",))
    assert p_of(tests) == pytest.approx(holm(tests))


def test_impossible_combinations_are_not_corrected_for():
    # Once a differs from c, at most one of the other two pairs is equal: no factor remains for them.
    tests = {("all", "a", "c"): 1e-6, ("all", "a", "b"): 0.04, ("all", "b", "c"): 0.03}
    assert p_of(tests) == pytest.approx({("all", "a", "c"): 3e-6, ("all", "a", "b"): 0.04, ("all", "b", "c"): 0.03})
    # Of four systems, a and b may still be equal while c and d are equal.
    tests = {("all", *pair): 1e-6 for pair in FOUR} | {("all", "a", "b"): 0.02, ("all", "c", "d"): 0.03}
    assert p_of(tests)["all", "a", "b"] == pytest.approx(0.04)
    assert p_of(tests)["all", "c", "d"] == pytest.approx(0.04)


def test_the_mix_has_most_and_journeys_share_the_rest():
    tests = {("all", "a", "b"): 0.01, ("browse", "a", "b"): 0.5, ("login", "a", "b"): 0.01}
    p = p_of(tests)
    assert p["all", "a", "b"] == pytest.approx(0.01 / MIX_SHARE)
    # login gets half of the mix's share, which is passed on.
    assert p["login", "a", "b"] == pytest.approx(0.02)
    # Even if the mix keeps its share, a journey can be shown.
    alone = p_of(tests | {("all", "a", "b"): 0.9, ("login", "a", "b"): 0.001})
    assert alone["login", "a", "b"] == pytest.approx(0.001 / ((1 - MIX_SHARE) / 2))


def test_a_mix_alone_has_all_of_it():
    assert p_of({("all", "a", "b"): 0.04}) == pytest.approx({("all", "a", "b"): 0.04})


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_a_comparison_is_shown_just_below_its_level_and_not_above(seed):
    tests = random_tests(seed)
    for key, result in list(correct_tests(tests).items())[::5]:
        for factor, is_shown in ((0.999, True), (1.001, False)):
            again = correct_tests(tests | {key: result.level * factor})[key]
            assert (again.p < SIGNIFICANCE) == is_shown


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_a_correction_never_helps_and_keeps_the_order_within_a_journey(seed):
    tests = random_tests(seed)
    p = p_of(tests)
    assert all(p[key] >= alone or p[key] == 1 for key, alone in tests.items())
    best = min((key for key in tests if key[0] == "all"), key=lambda key: tests[key])
    assert p[best] == min(p[key] for key in tests if key[0] == "all")


def test_random_p_values_show_something_in_no_more_than_five_percent():
    """For independent tests, Bonferroni's bound is nearly exact."""
    rng = np.random.default_rng(1)
    keys = [(journey, *pair) for journey in JOURNEYS for pair in FOUR]
    drawn = [dict(zip(keys, rng.random(len(keys)), strict=True)) for _ in range(600)]
    wrong = [min(result.p for result in correct_tests(tests).values()) < SIGNIFICANCE for tests in drawn]
    assert 0.03 < np.mean(wrong) < 0.065
