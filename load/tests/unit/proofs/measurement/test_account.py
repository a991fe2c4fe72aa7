"""The cost of the event loops' account, from rows with a known cost."""

from __future__ import annotations

import mmap
import random

import numpy as np
import polars as pl
import pytest

from proofs.measurement import account
from proofs.measurement.account import cost_of

SLOT_NS, PAIRS, EACH = 300_000_000, 400, 15


@pytest.mark.parametrize("costs", [0.0, 0.03])
def test_the_cost_is_found_on_a_machine_with_drift_and_disturbances(costs):
    rng = np.random.default_rng(1)
    on = rng.permuted(np.tile([True, False], (PAIRS, 1)), axis=1).ravel()
    begins = 1 + SLOT_NS * np.arange(on.size + 1)
    moods = np.cumsum(rng.normal(0, 0.02, on.size)) + 3 * (rng.random(on.size) < 0.1)
    slot = np.repeat(np.arange(on.size), EACH)
    kinds = rng.integers(0, 2, slot.size)
    latency_ns = np.array([4e6, 12e6])[kinds] * rng.lognormal(moods[slot], 0.1) * (1 + costs * on[slot])
    started_ns = begins[slot] + rng.random(slot.size) * SLOT_NS
    columns = {"started_ns": started_ns, "ended_ns": started_ns + latency_ns, "latency_ns": latency_ns}
    journeys = pl.DataFrame(
        {"journey": kinds.astype(str), "outcome": ["ok"] * slot.size}
        | {name: values.astype(np.int64) for name, values in columns.items()}
    )
    cost = cost_of("rest", journeys, list(zip(begins.tolist(), [*on.tolist(), True], strict=True)))
    for low, high in (cost.p50_ci95, cost.mean_ci95):
        assert low <= costs <= high < low + 0.02
    assert cost.pairs == PAIRS
    assert 0.8 * slot.size < cost.journeys < slot.size  # others began and ended in different slots
    assert cost.holds == (costs == 0.0)


def test_no_slot_begins_after_the_load_has_ended_early(monkeypatch):
    monkeypatch.setattr(account, "_WARMUP_S", 0.0)
    with mmap.mmap(-1, 1) as switch:
        pass
    slots = []
    account.turn_on_and_off(switch, PAIRS, random.Random(1), slots)
    assert slots == []
