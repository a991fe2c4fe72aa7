"""How figures are written: one way for each kind, on the page and on a terminal."""

from __future__ import annotations

import pytest

from hops.elements import numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"), (float("nan"), "–"), (0.0, "0"), (0.0004, "0"), (0.1234, "0.123"), (1.2345, "1.23"),
        (12.34, "12.3"), (1234.5, "1,234"), (-0.5, "−0.500"),
    ],
)  # fmt: skip
def test_a_figure_has_three_significant_digits(value, text):
    assert numbers.plain(value) == text


@pytest.mark.parametrize(
    ("ends", "text"), [((1, 2), "1.00 to 2.00"), ((1, None), "1.00 to …"), ((None, 2), "… to 2.00"), ((None, None), "")]
)
def test_an_end_that_is_not_known_is_open(ends, text):
    assert numbers.interval(ends) == text


def test_shares_are_percent_and_p_values_have_a_bound():
    shares = [numbers.share(0.0125, 2), numbers.share(None), numbers.share(0.05, 0, signed=True)]
    assert shares == ["1.25 %", "–", "+5 %"]
    assert [numbers.chance(0.0004), numbers.chance(0.0123), numbers.chance(None)] == ["< 0.001", "0.012", "–"]
    assert [numbers.p_value(0.0004), numbers.p_value(0.0123)] == ["p < 0.001", "p = 0.012"]


@pytest.mark.parametrize(("value", "text"), [(9, "9 s"), (60, "1 min"), (61.4, "1 min 1 s"), (7290, "2 h 1 min")])
def test_a_duration_is_in_the_units_that_suit_it(value, text):
    assert numbers.seconds(value) == text
