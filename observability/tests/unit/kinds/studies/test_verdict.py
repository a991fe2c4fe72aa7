"""From an interval to a verdict: the boundaries of each relation."""

from __future__ import annotations

import math
from typing import Any

import pytest
from scipy import stats

from hops.kinds.studies.verdict import Effect, Saturation, holm, judge, judge_order, size_of
from hops.statistics.intervals import t_quantile
from hops.statistics.two_stage import blocks_for
from synthetic.of_studies import synthetic_claim

BELOW = {"relation": "ratio", "value": 0.5}
EQUAL = {"relation": "eq", "tolerance": 0.1}
TOLERANT = {**BELOW, "tolerance": 0.1}


@pytest.mark.parametrize(
    ("claim", "interval", "outcome"),
    [
        ({"relation": "lt"}, (0.8, 0.99), "holds"),
        ({"relation": "lt"}, (0.8, 1.0), "not shown"),  # no effect is not on the claimed side
        ({"relation": "lt"}, (1.0, 1.2), "not shown"),
        ({"relation": "lt"}, (1.01, 1.2), "contradicted"),
        ({"relation": "gt"}, (1.01, 1.2), "holds"),
        ({"relation": "gt"}, (0.8, 0.99), "contradicted"),
        (BELOW, (0.8, 0.9), "holds"),  # the sign holds, although the published 0.5 lies outside
        (BELOW, (1.1, 1.2), "contradicted"),
        (BELOW, (0.8, 1.1), "not shown"),  # it is not half, which is a matter of size
        (BELOW, (0.49, 1.1), "not shown"),
        ({"relation": "ratio", "value": [1.35, 1.5]}, (1.1, 1.2), "holds"),
        ({"relation": "ratio", "value": [1.35, 1.5]}, (0.7, 0.8), "contradicted"),
        (EQUAL, (0.91, 1.09), "holds"),
        (EQUAL, (0.85, 1.05), "not shown"),
        (EQUAL, (1.11, 1.2), "contradicted"),
        (EQUAL, (0.7, 0.89), "contradicted"),
        ({"relation": "lt"}, (0.5, 0.5), "holds"),  # bytes do not scatter
        ({"relation": "lt"}, (1.0, 1.0), "not shown"),
        (TOLERANT, (0.91, 1.09), "contradicted"),  # both sides are equal, so left is not half of right
        (TOLERANT, (1.0, 1.0), "contradicted"),
        (TOLERANT, (0.9, 1.05), "not shown"),
        (TOLERANT, (0.95, 1.1), "not shown"),
        (TOLERANT, (0.92, 0.99), "holds"),  # a small difference on the claimed side is a difference
    ],
)
def test_the_interval_decides(claim: dict[str, Any], interval: tuple[float, float], outcome: str) -> None:
    effect = Effect((interval[0] * interval[1]) ** 0.5, interval, 0.01, 5)
    assert judge(synthetic_claim("X1", **claim), effect).outcome == outcome


@pytest.mark.parametrize("value", [0.96, 1.0, 1.04])
def test_two_one_sided_tests_agree_with_the_interval(value: float) -> None:
    claim, freedom = synthetic_claim("X1", **TOLERANT), 7
    nearest = min(math.log(value / 0.9), math.log(1.1 / value))
    for share, outcome in ((0.99, "contradicted"), (1.01, "not shown")):
        reach = math.exp(share * nearest)
        interval = (value / reach, value * reach)
        judged = judge(claim, Effect(value, interval, 0.3, 8, freedom=freedom))
        assert judged.outcome == outcome
        if outcome == "contradicted":
            error = share * nearest / t_quantile(freedom)
            one_sided = [
                stats.t.sf(math.log(value / 0.9) / error, freedom),
                stats.t.sf(math.log(1.1 / value) / error, freedom),
            ]
            assert judged.p_unequal == pytest.approx(2 * max(one_sided), rel=1e-4)
            assert judged.reason == "Both sides are equal: the whole interval lies within 10 % of equal."
    exact = judge(claim, Effect(1.0, (1.0, 1.0), 1.0, 8))
    assert exact.p_unequal == 0.0


def test_equality_may_take_fewer_blocks_than_a_direction() -> None:
    effect = Effect(1.01, (1.01 / 1.2, 1.01 * 1.2), 0.9, 5, freedom=4)
    assert judge(synthetic_claim("X1"), effect).blocks is None
    needed = judge(synthetic_claim("X1", tolerance=0.1), effect).blocks
    assert needed == blocks_for(math.log(1.2), 5, math.log(1.1 / 1.01))


def test_of_success_rates_it_is_the_difference_that_decides() -> None:
    claim = synthetic_claim("X1", metric="success_rate", relation="gt")
    for interval, outcome in (((0.1, 4.0), "holds"), ((-0.1, 4.0), "not shown"), ((-4.0, -0.1), "contradicted")):
        effect = Effect(sum(interval) / 2, interval, 0.01, 5, difference=True)
        assert judge(claim, effect).outcome == outcome
    judged = judge(claim, Effect(0.0, (0.0, 0.0), 1.0, 5, difference=True))
    assert (judged.outcome, judged.reason.partition(":")[0]) == ("not shown", "Both sides are exactly equal")


def test_what_is_not_shown_says_how_many_blocks_it_takes() -> None:
    claim = synthetic_claim("X1")
    half = judge(claim, Effect(0.9, (0.9 / 1.2, 0.9 * 1.2), 0.3, 5))
    # The interval reaches log 1.2, but log 1/0.9 would be enough: (0.182 / 0.105)² x 5.
    assert (half.blocks, "about 15 blocks" in half.reason) == (15, True)
    hopeless = judge(claim, Effect(0.999, (0.8, 1.25), 0.9, 5))
    assert (hopeless.blocks, "needs more than 100 blocks" in hopeless.reason) == (None, True)
    untold = judge(claim, Effect(0.9, (None, None), None, 1, reason="needs 3 blocks, and there is 1"))
    assert untold.reason == "There is no interval: it needs 3 blocks, and there is 1."


@pytest.mark.parametrize(
    ("value", "interval", "size"),
    [
        (0.5, (0.4, 0.5), (True, 0.894)),
        (0.5, (0.51, 0.6), (False, 1.106)),
        (0.06, (0.005, 0.007), (False, 0.0986)),  # the direction holds, and the size is off tenfold
        ([1.35, 1.5], (1.5, 1.6), (True, 1.033)),
        ([1.35, 1.5], (1.3, 1.7), (True, 1.0)),
        ([1.35, 1.5], (1.51, 1.6), (False, 1.036)),
        (None, (0.4, 0.5), None),
        (0.5, (None, None), None),
    ],
)
def test_the_published_ratio_is_compared_with_the_interval(
    value: Any, interval: Any, size: tuple[bool, float] | None
) -> None:
    effect = Effect(None if interval[0] is None else (interval[0] * interval[1]) ** 0.5, interval, 0.01, 5)
    found = size_of(synthetic_claim("X1", relation="ratio", value=value), effect)
    expected = size and {"inside": size[0], "measured_over_published": pytest.approx(size[1], abs=1e-3)}
    assert found == expected


def test_a_sign_has_no_size_and_neither_has_a_ratio_of_percentages() -> None:
    effect = Effect(0.5, (0.4, 0.6), 0.01, 5)
    assert size_of(synthetic_claim("X1", relation="lt"), effect) is None
    assert size_of(synthetic_claim("X1", relation="ratio", value=0.5, metric="cpu_percent"), effect) is None


def test_holm_steps_down_and_never_falls() -> None:
    assert holm([0.04, None, 0.01, 0.03]) == [pytest.approx(0.06), None, pytest.approx(0.03), pytest.approx(0.06)]


EARLY = Saturation(grows=(0.9, 0.9, 0.9), full=(0.001, 0.001, 0.001))  # full from the first step on
MIDDLE = Saturation(grows=(0.001, 0.9, 0.9), full=(0.9, 0.001, 0.001))
NEVER = Saturation(grows=(0.001, 0.001, 0.001), full=(0.9, 0.9, 0.9))
UNCLEAR = Saturation(grows=(0.1, 0.1, 0.1), full=(0.1, 0.1, 0.1))


@pytest.mark.parametrize(
    ("saturations", "outcome", "turned"),
    [
        ([EARLY, MIDDLE, NEVER], "holds", None),
        ([EARLY, EARLY, NEVER], "not shown", None),
        ([MIDDLE, EARLY, NEVER], "contradicted", (0, 1)),
        ([EARLY, NEVER, MIDDLE], "contradicted", (1, 2)),
        ([NEVER, UNCLEAR, EARLY], "contradicted", (0, 2)),  # no neighbours are in the other order
        ([NEVER, NEVER, NEVER], "not shown", None),
        ([EARLY, UNCLEAR, NEVER], "not shown", None),  # that no gain is shown does not make a side full
        ([EARLY, MIDDLE, UNCLEAR], "not shown", None),
        ([EARLY, MIDDLE, Saturation((), (), "needs at least 2 blocks")], "not shown", None),
    ],
)
def test_an_order_holds_if_each_side_is_shown_to_level_off_later(
    saturations: list[Saturation], outcome: str, turned: tuple[int, int] | None
) -> None:
    judgement, _, pair = judge_order(saturations)
    assert (judgement.outcome, pair) == (outcome, turned)


def test_the_p_value_of_an_order_counts_its_steps_and_its_pairs() -> None:
    assert judge_order([EARLY, NEVER])[1] == pytest.approx(2 * 3 * 0.001)
    assert judge_order([NEVER, EARLY, EARLY])[1] == pytest.approx(3 * 2 * 3 * 0.001)


def test_a_side_levels_off_within_the_steps_that_are_shown() -> None:
    users = [10, 100, 500, 1000]
    texts = [saturation.describe(users) for saturation in (EARLY, MIDDLE, NEVER, UNCLEAR)]
    assert texts == ["at most 10", "above 10, at most 100", "above 500", "unknown"]
