"""What ran at the same time as slow journeys, in made-up experiments whose causes are known."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

from hops.analysis.meetings import MIN_MEETINGS, meetings_of, queues_of
from proofs.statistics.meetings import CAUSES, one_experiment, says_something
from synthetic.meetings import BUSY, CALM, PAUSES, Interference, calls_of


def experiment(seed, waits_ms, **size):
    return Interference(waits_ms, **size).experiment(np.random.default_rng(seed))


def behind_bulk(rows, topology=BUSY, journey="all"):
    found = meetings_of(rows)
    return next(
        row for row in found if (row["topology"], row["journey"], row["met"]) == (topology, journey, "bulk_lines")
    )


def test_a_known_wait_is_found_at_the_mean_and_at_percentiles_with_what_it_makes_of_the_mean():
    rows = experiment(2, 30.0)
    row = behind_bulk(rows, journey="product")
    truth = Interference(30.0).truth("product")
    for name, one in {"mean": row["more"], **row["percentiles"]}.items():
        low, high = one["ci95"]
        assert 0 < low < truth[name] < high, name
    assert set(row["percentiles"]) == {"p50", "p99"}
    assert row["mean_ms"] == pytest.approx(row["share"] * row["more"]["value"])
    of_kind = rows[BUSY].filter(pl.col("journey") == "product").height
    assert row["share"] == pytest.approx(row["meetings"] / of_kind)
    assert row["beyond_p99"] > 0.7 > 0.3 > row["share"]
    calm = behind_bulk(rows, CALM)["more"]["ci95"]
    assert calm[0] < 0 < calm[1]


def test_intervals_hold_the_truth_and_false_alarms_are_seldom():
    counts = sum(map(one_experiment, np.random.SeedSequence(2).spawn(4)), Counter())
    for metric in ("mean", "p50", "p99"):
        covered, alarms = (
            counts["", metric, what, "count"] / counts["", metric, what, "of"] for what in ("covered", "alarm")
        )
        assert covered >= 0.88, metric
        assert alarms <= 0.08, metric


def test_pauses_and_slowdowns_are_no_waits_and_waits_are_found():
    for cause, setting in CAUSES.items():
        seeds = np.random.SeedSequence(3).spawn(2 if setting.waits_ms else 4)
        sentences = [says_something(setting, np.random.default_rng(seed)) for seed in seeds]
        assert set(sentences) == {setting.waits_ms > 0}, cause


def test_a_kind_has_no_more_of_the_wait_for_a_pause_than_of_the_time():
    rows = experiment(1, 0.0, third=PAUSES, journeys=1200)
    queues = [row for row in queues_of(rows, calls_of(rows)) if row["topology"] == BUSY]
    whole = next(row["mean_ms"] for row in queues if row["met"] == "all")
    assert whole > 1
    assert all(row["mean_ms"] / whole < row["share"] + 0.1 for row in queues)


def test_too_few_meetings_say_nothing():
    few = {name: rows.filter(pl.col("block") == 1).head(MIN_MEETINGS) for name, rows in experiment(1, 30.0).items()}
    assert meetings_of(few) == []
    alone = meetings_of({BUSY: experiment(1, 30.0)[BUSY]})
    assert {row["topology"] for row in alone} == {BUSY}


def test_p99_is_of_enough_journeys_only():
    row = behind_bulk(experiment(1, 30.0, blocks=2), journey="product")
    assert set(row["percentiles"]) == {"p50"}
    assert row["beyond_p99"] is None


def test_meetings_of_one_burst_say_nothing():
    rows = experiment(1, 30.0, blocks=30)
    burst = {name: one.filter((pl.col("journey") != "bulk_lines") | (pl.col("seq") < 40)) for name, one in rows.items()}
    assert not [row for row in meetings_of(burst) if row["met"] == "bulk_lines"]
