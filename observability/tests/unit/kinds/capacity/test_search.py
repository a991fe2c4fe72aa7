"""The search, on simulated shops whose capacity is known."""

from __future__ import annotations

import dataclasses
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hops.kinds.capacity.search import Bounds, Bracket, Seen, climb, confirm, round_rate

PLAN = Bounds(start=20.0, highest=1000.0)


class Shop:
    """Sustains every rate up to its capacity; `wrong` is how often it reports the opposite."""

    def __init__(self, capacity: float, *, wrong: float = 0.0, generator_from: float = float("inf"), seed: int = 0):
        self.capacity = capacity
        self.generator_from = generator_from
        self.rates: list[float] = []
        self.confirmed: list[float] = []
        self._wrong = wrong
        self._chance = random.Random(seed)

    def measure(self, rate: float) -> Seen:
        self.rates.append(rate)
        holds = (rate <= self.capacity) is not (self._chance.random() < self._wrong)
        return Seen(rate, holds, rate > 1.5 * self.capacity, rate >= self.generator_from)

    def confirm(self, rate: float) -> Seen:
        seen = self.measure(rate)
        if seen.holds:
            self.confirmed.append(rate)
        return seen


@settings(max_examples=300)
@given(capacity=st.floats(1.5, 990.0))
def test_a_known_capacity_is_found_within_the_precision(capacity: float) -> None:
    plan = dataclasses.replace(PLAN, max_steps=25)
    shop = Shop(capacity)
    found = confirm(shop.confirm, climb(shop.measure, plan), plan)
    assert found.rate <= capacity < found.failed
    assert found.limit == "shop"
    # Rates are rounded to a tenth, which is more than the precision for slow shops.
    assert found.failed / found.rate <= plan.precision + 0.15 / found.rate


@settings(max_examples=500)
@given(
    capacity=st.floats(0.1, 3000.0),
    wrong=st.floats(0.0, 0.6),
    seed=st.integers(0, 2**32),
    start=st.floats(1.0, 500.0),
    max_steps=st.integers(1, 15),
    max_confirmations=st.integers(1, 5),
)
def test_nothing_is_reported_that_was_not_confirmed_and_the_search_ends(
    capacity: float, wrong: float, seed: int, start: float, max_steps: int, max_confirmations: int
) -> None:
    plan = Bounds(start, highest=700.0, max_steps=max_steps, max_confirmations=max_confirmations)
    shop = Shop(capacity, wrong=wrong, seed=seed)
    bracket = climb(shop.measure, plan)
    assert bracket.steps == len(shop.rates) <= max_steps
    found = confirm(shop.confirm, bracket, plan)
    assert len(shop.rates) <= max_steps + max_confirmations
    assert found.rate is None or shop.confirmed == [found.rate]
    assert all(plan.lowest <= rate <= plan.highest for rate in shop.rates)
    assert found.rate is None or found.failed is None or found.rate < found.failed


def test_a_shop_that_holds_the_highest_rate_has_no_limit_found() -> None:
    shop = Shop(5000.0)
    found = confirm(shop.confirm, climb(shop.measure, PLAN), PLAN)
    assert (found.rate, found.failed, found.limit) == (1000.0, None, "max_rate")


def test_a_search_that_is_out_of_steps_says_that_it_met_no_limit() -> None:
    plan = Bounds(start=20.0, highest=1000.0, max_steps=2)
    shop = Shop(5000.0)
    found = confirm(shop.confirm, climb(shop.measure, plan), plan)
    assert (found.rate, found.failed, found.limit) == (40.0, None, "unknown")


def test_a_shop_that_holds_nothing_confirms_nothing() -> None:
    shop = Shop(0.5)
    bracket = climb(shop.measure, PLAN)
    assert bracket.held is None
    found = confirm(shop.confirm, bracket, PLAN)
    assert (found.rate, found.tried) == (None, ())
    assert min(shop.rates) == PLAN.lowest


@pytest.mark.parametrize(("generator_from", "limit"), [(140.0, "generator"), (300.0, "shop")])
def test_a_failure_is_the_generator_s_only_if_it_was_at_its_limit_then(generator_from: float, limit: str) -> None:
    # 320/s fails with the generator at its limit; the lowest failing rate is below 300.
    shop = Shop(capacity=150.0, generator_from=generator_from)
    assert confirm(shop.confirm, climb(shop.measure, PLAN), PLAN).limit == limit


def test_a_failure_that_is_not_clear_is_measured_again() -> None:
    answers = iter([Seen(20.0, holds=False), Seen(20.0, holds=True), Seen(40.0, holds=False, clear=True)])
    rates: list[float] = []

    def measure(rate: float) -> Seen:
        rates.append(rate)
        return next(answers, Seen(rate, holds=False, clear=True))

    bracket = climb(measure, Bounds(start=20.0, highest=1000.0, max_steps=3))
    assert rates == [20.0, 20.0, 40.0]
    assert (bracket.held, bracket.failed) == (20.0, 40.0)


def test_a_rate_that_is_not_confirmed_is_taken_down() -> None:
    def measure(rate: float) -> Seen:
        return Seen(rate, holds=rate < 85)

    found = confirm(measure, Bracket(held=100.0, failed=105.0), PLAN)
    assert found.tried == (100.0, 90.0, 81.0)
    assert (found.rate, found.failed) == (81.0, 90.0)


def test_confirmations_are_bounded() -> None:
    found = confirm(lambda rate: Seen(rate, holds=False), Bracket(held=100.0, failed=105.0), PLAN)
    assert (found.rate, found.limit, len(found.tried)) == (None, "unknown", PLAN.max_confirmations)


@pytest.mark.parametrize(("rate", "expected"), [(20.04, 20.0), (99.97, 100.0), (123.6, 124.0)])
def test_rates_are_rounded_as_people_write_them(rate: float, expected: float) -> None:
    assert round_rate(rate) == expected
