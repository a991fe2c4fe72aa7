"""Medians and means over a mix of journeys."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from hops.kinds.decide.mix import median_of, shares, weigh, within


def journeys(counts, blocks=4, seed=1):
    """Rows of several kinds in each block, each kind around a different latency."""
    rng = np.random.default_rng(seed)
    rows = [
        (block, journey, channel, ms * rng.lognormal(0, 0.2))
        for block in range(blocks)
        for (journey, channel, ms), count in counts.items()
        for _ in range(count)
    ]
    return pl.DataFrame(rows, ["block", "journey", "channel", "ms"], orient="row")


QUICK, SLOW = ("product", "mobile", 5.0), ("checkout", "web", 40.0)


def test_a_weighted_median_is_that_of_rows_repeated_as_often():
    rows = journeys({QUICK: 60, SLOW: 20})
    section = median_of(weigh(rows, {QUICK[:2]: 1.0, SLOW[:2]: 1.0}), "ms", range(4))
    repeated = [
        value for value, name in rows.select("ms", "journey").iter_rows() for _ in range(3 if name == SLOW[0] else 1)
    ]
    assert section.value == pytest.approx(np.quantile(repeated, 0.5, method="inverted_cdf"))
    assert section.by_block.size == 4


def test_the_mix_that_was_sent_has_the_shares_of_its_rows():
    rows = journeys({QUICK: 30, SLOW: 10})
    assert shares(weigh(rows, None)) == {SLOW[:2]: 0.25, QUICK[:2]: 0.75}
    assert shares(weigh(rows, {QUICK[:2]: 1.0, SLOW[:2]: 4.0})) == pytest.approx({SLOW[:2]: 0.8, QUICK[:2]: 0.2})


def test_each_channel_has_its_own_mix():
    mix = {("browse", "web"): 0.2, ("login", "web"): 0.2, ("product", "mobile"): 0.6}
    assert within(mix, "web") == {("browse", "web"): 0.5, ("login", "web"): 0.5}
    assert within(mix, "all") == pytest.approx(mix)


def test_a_few_rows_that_stand_for_most_customers_are_too_few():
    rows = journeys({QUICK: 200, SLOW: 1})
    alone = median_of(weigh(rows, {QUICK[:2]: 1.0, SLOW[:2]: 50.0}), "ms", range(4))
    assert "needs 4 journeys in a block" in alone.reason


def test_a_block_without_one_of_the_journeys_gives_no_interval():
    rows = journeys({QUICK: 20, SLOW: 20}).filter((pl.col("block") > 0) | (pl.col("journey") == QUICK[0]))
    section = median_of(weigh(rows, {QUICK[:2]: 1.0, SLOW[:2]: 3.0}), "ms", range(4))
    assert section.reason == "a block lacks a journey of the mix"


def test_a_median_that_a_model_puts_below_zero_has_no_interval():
    rows = journeys({QUICK: 20}).with_columns(pl.col("ms") - 50)
    assert median_of(weigh(rows, None), "ms", range(4)).reason == "a median would not be above 0"
