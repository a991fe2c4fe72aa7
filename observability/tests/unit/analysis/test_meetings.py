"""Who waits behind whom, on made-up experiments whose interference is known."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from hops.analysis.meetings import LEAST_MEETINGS, meetings_of

KINDS = ("browse", "bulk_lines", "login", "product")
SHARES = (0.4, 0.06, 0.14, 0.4)
OWN_MS = {"browse": 10.0, "bulk_lines": 170.0, "login": 20.0, "product": 5.0}


def experiment(seed: int, waits_ms: float, *, blocks: int = 8, journeys: int = 400, rate: float = 20.0):
    """Rows of two topologies under one tape: in `busy`, others wait behind a long `bulk_lines`."""
    rng = np.random.default_rng(seed)
    at_ms = np.cumsum(rng.exponential(1e3 / rate, journeys))
    kinds = rng.choice(KINDS, journeys, p=SHARES)
    parameters = np.exp(rng.normal(0, 0.2, journeys))
    rows: dict[str, pl.DataFrame] = {}
    for topology, bulk_ms in (("busy", 170.0), ("calm", 20.0)):
        own_ms = np.array([{**OWN_MS, "bulk_lines": bulk_ms}[kind] for kind in kinds]) * parameters
        trials = []
        for block in range(1, blocks + 1):
            ms = own_ms * np.exp(rng.normal(0, 0.05)) * np.exp(rng.normal(0, 0.25, journeys))
            bulk = kinds == "bulk_lines"
            under_way = (at_ms[bulk] < at_ms[:, None]) & (at_ms[:, None] < at_ms[bulk] + ms[bulk])
            waits = under_way.any(axis=1) & ~bulk & (topology == "busy")
            ms += np.where(waits, waits_ms * rng.exponential(1, journeys), 0)
            columns = {
                "seq": range(journeys),
                "journey": kinds,
                "intended_ns": at_ms * 1e6,
                "ended_ns": (at_ms + ms) * 1e6,
            }
            trials.append(pl.DataFrame({"block": block, **columns, "latency_ns": ms * 1e6, "outcome": "ok"}))
        rows[topology] = pl.concat(trials)
    return rows


def behind_bulk(rows, topology="busy", journey="all"):
    found = meetings_of(rows)
    return next(
        row for row in found if (row["topology"], row["journey"], row["met"]) == (topology, journey, "bulk_lines")
    )


def test_a_known_wait_is_found_with_what_it_makes_of_the_mean():
    row = behind_bulk(experiment(1, 30.0))
    low, high = row["more"]["ci95"]
    assert low < 30 < high
    assert row["mean_ms"] == pytest.approx(row["share"] * row["more"]["value"])
    assert row["share"] == pytest.approx(row["meetings"] / (8 * 400))
    calm = behind_bulk(experiment(1, 30.0), "calm")["more"]["ci95"]
    assert calm[0] < 0 < calm[1]


@pytest.mark.parametrize("waits_ms", [0.0, 30.0])
def test_intervals_hold_the_truth_and_false_alarms_are_seldom(waits_ms):
    experiments, covered, alarms, others = 40, 0, 0, 0
    for seed in range(experiments):
        for row in meetings_of(experiment(seed, waits_ms)):
            low, high = row["more"]["ci95"]
            if row["met"] == "bulk_lines" and row["topology"] == "busy":
                covered += row["journey"] == "product" and low <= waits_ms <= high
            else:
                others += 1
                alarms += not low <= 0 <= high
    assert covered >= 0.85 * experiments
    assert alarms <= 0.1 * others


def test_too_few_meetings_say_nothing():
    few = {name: rows.filter(pl.col("block") == 1).head(LEAST_MEETINGS) for name, rows in experiment(1, 30.0).items()}
    assert meetings_of(few) == []
    alone = meetings_of({"busy": experiment(1, 30.0)["busy"]})
    assert {row["topology"] for row in alone} == {"busy"}
