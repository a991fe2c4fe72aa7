"""Evidence as it is gathered from rows and traces."""

from __future__ import annotations

import polars as pl

from hops.budget import budgets_of
from hops.evidence import evidence_of
from hops.gates import evaluate, is_valid
from hops.generated import BASE_NS, shop_trace


def replay(sampled=20, unsampled=80):
    budgets, quality = budgets_of(shop_trace(seed) for seed in range(sampled))
    latencies = [budget.total_ns for budget in budgets] + [10_000_000] * unsampled
    count = sampled + unsampled
    journeys = pl.DataFrame(
        {
            "journey": ["browse"] * count,
            "intended_ns": [BASE_NS] * count,
            "started_ns": [BASE_NS + 100_000] * count,
            "latency_ns": latencies,
            "outcome": ["ok"] * count,
            "sampled": [True] * sampled + [False] * unsampled,
            "trace_id": [budget.trace_id for budget in budgets] + [""] * unsampled,
        }
    )
    return journeys, budgets, quality


RUN = {
    "journeys_planned": 100,
    "parity_mismatches": 0,
    "invariants_broken": 0,
    "generator_cores": 0.2,
    "steal_share": 0.0,
    "other_cores": 0.0,
}


def test_a_sound_replay_passes():
    evidence = evidence_of(*replay(), **RUN)
    assert evidence.start_lag_p99_ms == 0.1
    assert (evidence.traces_expected, evidence.traces_found, evidence.budget_gap_ns) == (20, 20, 0)
    assert [row.difference_ms for row in evidence.agreements] == [0.0] * len(evidence.agreements)
    assert is_valid(evaluate(evidence))


def test_a_trace_not_found_and_a_failed_journey_show():
    journeys, budgets, quality = replay()
    _, fewer = budgets_of(shop_trace(seed) for seed in range(19))
    failed = journeys.with_columns(outcome=pl.Series(["timeout"] + ["ok"] * 99))
    gates = evaluate(evidence_of(failed, budgets[:19], fewer, **RUN))
    assert [gate["name"] for gate in gates if not gate["ok"]] == ["failure_share", "spans_lost"]
    assert quality.traces == 20


def test_an_untraced_replay_has_no_trace_gates():
    evidence = evidence_of(*replay(sampled=0, unsampled=100), **RUN)
    assert evidence.traced is False
    assert is_valid(evaluate(evidence))
