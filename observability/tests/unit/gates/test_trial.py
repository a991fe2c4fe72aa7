"""Every gate holds for a sound run, and each is tripped by its own defect and no other."""

from __future__ import annotations

import dataclasses

import pytest

from hops.gates.edge_agreement import Agreement
from hops.gates.trial import Evidence, evaluate, is_valid, left_out
from hops.traces.tree import Quality

SOUND = Evidence(
    parity_mismatches=0,
    invariants_broken=0,
    journeys_planned=1000,
    journeys_sent=1000,
    start_lag_p99_ms=0.4,
    latency_median_ms=8.0,
    generator_cores=0.3,
    failures=0,
    steal_share=0.001,
    other_cores=0.03,
    spans_dropped=0,
    traces_expected=200,
    traces_found=200,
    quality=Quality(traces=200, spans=6000),
    budget_gap_ns=0,
    edge_unmatched=0,
    agreements=[Agreement("browse", 200, 0.01, 0.2)],
    unattributed_share=0.002,
)

TRIPS = {
    "a wrong answer": ("parity", {"parity_mismatches": 1}),
    "parity never checked": ("parity", {"parity_mismatches": None}),
    "a journey unsent": ("tape_unsent", {"journeys_sent": 999}),
    "late starts": ("start_lag_p99_ms", {"start_lag_p99_ms": 1.0}),
    "a busy generator": ("generator_cores", {"generator_cores": 0.8}),
    "one failure in a thousand": ("failure_share", {"failures": 1}),
    "a dropped span": ("spans_lost", {"spans_dropped": 1}),
    "a missing trace": ("spans_lost", {"traces_found": 199}),
    "a trace without root": ("spans_lost", {"quality": Quality(traces=200, spans=6000, empty=1)}),
    "a callee without span": ("spans_lost", {"quality": Quality(traces=200, spans=6000, missing_servers=1)}),
    "orphans": ("orphan_share", {"quality": Quality(traces=200, spans=6000, orphans=6)}),
    "no spans at all": ("orphan_share", {"quality": Quality()}),
    "a budget that leaks": ("budget_gap_ns", {"budget_gap_ns": 1}),
    "a request that the edge's log has alone": ("edge_unmatched", {"edge_unmatched": 1}),
    "traces unlike the edge's log": ("edge_off_ms", {"agreements": [Agreement("browse", 200, 0.21, 0.2)]}),
    "nothing to compare": ("edge_off_ms", {"agreements": []}),
    "unattributed time": ("unattributed_share", {"unattributed_share": 0.011}),
    "a broken invariant": ("invariants_broken", {"invariants_broken": 1}),
    "invariants never checked": ("invariants_broken", {"invariants_broken": None}),
    "a noisy neighbour": ("steal_share", {"steal_share": 0.02}),
    "programs beside the run": ("other_cores", {"other_cores": 0.25}),
    "steal not measured": ("steal_share", {"steal_share": None}),
}


def test_a_sound_run_is_valid():
    gates = evaluate(SOUND)
    assert [gate["name"] for gate in gates if not gate["ok"]] == []
    assert is_valid(gates)


@pytest.mark.parametrize(("name", "changes"), TRIPS.values(), ids=TRIPS)
def test_a_defect_trips_its_gate(name, changes):
    gates = evaluate(dataclasses.replace(SOUND, **changes))
    assert [gate["name"] for gate in gates if not gate["ok"]] == [name]
    assert not is_valid(gates)


def test_every_gate_is_tripped_by_a_case_above():
    assert {gate["name"] for gate in evaluate(SOUND)} == {name for name, _ in TRIPS.values()}


def test_start_lag_may_be_5_percent_of_a_slow_median():
    gates = evaluate(dataclasses.replace(SOUND, start_lag_p99_ms=3.0, latency_median_ms=100.0))
    assert is_valid(gates)


def test_the_journey_farthest_off_for_its_allowance_is_shown():
    rows = [
        Agreement("bulk_lines", 100, 1.0, 2.0),
        Agreement("product", 100, 0.15, 0.2),
    ]
    (gate,) = [one for one in evaluate(dataclasses.replace(SOUND, agreements=rows)) if one["name"] == "edge_off_ms"]
    assert (gate["value"], gate["limit"]) == (pytest.approx(0.15), 0.2)


def test_a_stress_test_may_fail_and_a_run_without_traces_has_no_trace_gates():
    assert is_valid(evaluate(dataclasses.replace(SOUND, stress=True, failures=500)))
    names = {gate["name"] for gate in evaluate(dataclasses.replace(SOUND, traced=False, agreements=[]))}
    before_and_during = {"parity", "tape_unsent", "start_lag_p99_ms", "generator_cores", "failure_share"}
    assert names == before_and_during | {"invariants_broken", "steal_share", "other_cores"}


def test_a_closed_loop_leaves_out_what_goes_by_the_tape_s_times_and_says_why():
    closed = dataclasses.replace(SOUND, closed=True, journeys_sent=400, start_lag_p99_ms=50.0)
    assert is_valid(evaluate(closed))
    found = left_out(closed)
    assert [gate["name"] for gate in found] == ["tape_unsent", "start_lag_p99_ms"]
    assert all("closed loop" in gate["reason"] for gate in found)
    (gate,) = [one for one in evaluate(dataclasses.replace(closed, tape_exhausted=True)) if not one["ok"]]
    assert gate["name"] == "tape_exhausted"


def test_without_an_edge_its_gates_are_left_out_and_say_why():
    bare = dataclasses.replace(SOUND, edge_logged=False, edge_unmatched=None, agreements=[])
    assert is_valid(evaluate(bare))
    found = left_out(bare)
    assert [gate["name"] for gate in found] == ["edge_unmatched", "edge_off_ms"]
    assert all("without an edge" in gate["reason"] for gate in found)


def test_without_an_audit_the_invariants_are_left_out_and_never_said_to_hold():
    in_memory = dataclasses.replace(SOUND, audited=False, invariants_broken=None)
    assert is_valid(evaluate(in_memory))
    assert "invariants_broken" not in {gate["name"] for gate in evaluate(in_memory)}
    (gate,) = left_out(in_memory)
    assert gate["name"] == "invariants_broken"
    assert "store=memory" in gate["reason"]


@pytest.mark.parametrize(
    "changes",
    [{}, {"stress": True}, {"traced": False}, {"closed": True}, {"edge_logged": False}, {"audited": False}],
)
def test_a_gate_is_either_looked_at_or_left_out(changes):
    evidence = dataclasses.replace(SOUND, **changes)
    looked_at = {gate["name"] for gate in evaluate(evidence)}
    skipped = {gate["name"] for gate in left_out(evidence)}
    assert looked_at | skipped >= {name for name, _ in TRIPS.values()}
    assert not looked_at & skipped
