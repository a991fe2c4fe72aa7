"""From an interval to a verdict: the boundaries of each relation."""

from __future__ import annotations

from typing import Any

import pytest

from hops.kinds.studies.verdict import Effect, holm, judge, lies_inside
from synthetic.of_studies import synthetic_claim

BELOW = {"relation": "ratio", "value": 0.5}
EQUAL = {"relation": "eq", "tolerance": 0.1}


@pytest.mark.parametrize(
    ("claim", "interval", "outcome"),
    [
        ({"relation": "lt"}, (0.8, 0.99), "holds"),
        ({"relation": "lt"}, (0.8, 1.0), "inconclusive"),  # no effect is not on the claimed side
        ({"relation": "lt"}, (1.0, 1.2), "inconclusive"),
        ({"relation": "lt"}, (1.01, 1.2), "contradicted"),
        ({"relation": "gt"}, (1.01, 1.2), "holds"),
        ({"relation": "gt"}, (0.8, 0.99), "contradicted"),
        (BELOW, (0.8, 0.9), "holds"),  # the sign, although the published 0.5 lies outside
        (BELOW, (1.1, 1.2), "contradicted"),
        (BELOW, (0.8, 1.1), "contradicted"),  # whatever the sign, it is not half
        (BELOW, (0.49, 1.1), "inconclusive"),
        ({"relation": "ratio", "value": [1.35, 1.5]}, (1.1, 1.2), "holds"),
        ({"relation": "ratio", "value": [1.35, 1.5]}, (0.7, 0.8), "contradicted"),
        (EQUAL, (0.91, 1.09), "holds"),
        (EQUAL, (0.85, 1.05), "inconclusive"),
        (EQUAL, (1.11, 1.2), "contradicted"),
        (EQUAL, (0.7, 0.89), "contradicted"),
        ({"relation": "lt"}, (0.5, 0.5), "holds"),  # bytes do not scatter
        ({"relation": "lt"}, (1.0, 1.0), "inconclusive"),
    ],
)
def test_the_interval_decides(claim: dict[str, Any], interval: tuple[float, float], outcome: str) -> None:
    effect = Effect((interval[0] * interval[1]) ** 0.5, interval, 0.01, 5)
    assert judge(synthetic_claim("X1", **claim), effect).outcome == outcome


def test_a_ratio_that_the_interval_leaves_out_is_tested_itself() -> None:
    effect = Effect(0.9, (0.9 / 1.2, 0.9 * 1.2), 0.4, 5)
    told = judge(synthetic_claim("X1", relation="ratio", value=[0.9 / 1.2**2, 0.9 / 1.2**1.5]), effect)
    assert "leaves out the ratio" in told.reason
    # A bound that lies half as far again as the interval's end: t is 1.5 times that of 5 %, with 4 degrees of freedom.
    assert told.p == pytest.approx(0.0141, abs=1e-4)
    assert judge(synthetic_claim("X1"), effect).p is None


def test_of_success_rates_it_is_the_difference_that_decides() -> None:
    claim = synthetic_claim("X1", metric="success_rate", relation="gt")
    for interval, outcome in (((0.1, 4.0), "holds"), ((-0.1, 4.0), "inconclusive"), ((-4.0, -0.1), "contradicted")):
        effect = Effect(sum(interval) / 2, interval, 0.01, 5, difference=True)
        assert judge(claim, effect).outcome == outcome
    told = judge(claim, Effect(0.0, (0.0, 0.0), 1.0, 5, difference=True))
    assert (told.outcome, told.reason.partition(":")[0]) == ("inconclusive", "Both sides are exactly equal")


def test_what_is_inconclusive_says_how_many_blocks_it_takes() -> None:
    claim = synthetic_claim("X1")
    half = judge(claim, Effect(0.9, (0.9 / 1.2, 0.9 * 1.2), 0.3, 5))
    # The interval reaches log 1.2 where log 1/0.9 would do: (0.182 / 0.105)² x 5.
    assert (half.blocks, "about 15 blocks" in half.reason) == (15, True)
    hopeless = judge(claim, Effect(0.999, (0.8, 1.25), 0.9, 5))
    assert (hopeless.blocks, "100 blocks would not decide it either" in hopeless.reason) == (None, True)
    untold = judge(claim, Effect(0.9, (None, None), None, 1, reason="needs 3 blocks, and there is 1"))
    assert untold.reason == "There is no interval: it needs 3 blocks, and there is 1."


@pytest.mark.parametrize(
    ("value", "interval", "inside"),
    [
        (0.5, (0.4, 0.5), True),
        (0.5, (0.51, 0.6), False),
        ([1.35, 1.5], (1.5, 1.6), True),
        ([1.35, 1.5], (1.51, 1.6), False),
        (None, (0.4, 0.5), None),
        (0.5, (None, None), None),
    ],
)
def test_whether_the_published_value_lies_inside(value: Any, interval: Any, inside: bool | None) -> None:
    assert lies_inside(value, interval) is inside


def test_holm_steps_down_and_never_falls() -> None:
    assert holm([0.04, None, 0.01, 0.03]) == [pytest.approx(0.06), None, pytest.approx(0.03), pytest.approx(0.06)]
