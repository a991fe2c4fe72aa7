"""Every gate passes for a sound run, and each gate fails with its own defect and with no other."""

from __future__ import annotations

import dataclasses

import pytest

from hops.gates.edge_agreement import Agreement
from hops.gates.trial import Evidence, Sidecars, audit_verdict, evaluate, left_out
from hops.gates.verdict import failing_gates, verdict_of
from hops.run.documents.gate import NOISY, VALID, WRONG
from hops.traces.tree import Quality

SOUND = Evidence(
    parity_mismatches=0, invariants_broken=0, journeys_planned=1000, journeys_sent=1000, start_lag_p99_ms=0.4,
    start_lag_mean_ms=0.2, answer_lag_ms=0.3, spans_missing=0, spans_outside=0, latency_median_ms=8.0,
    generator_cores=0.3, failures=0,
    steal_share=0.001,
    other_cores=0.03, disk_stall_share=0.0, spans_dropped=0,
    traces_expected=200, traces_found=200, quality=Quality(traces=200, spans=6000), budget_gap_ns=0, edge_unmatched=0,
    agreements=[Agreement("browse", 200, 0.01, 0.2)], unattributed_share=0.002,
)  # fmt: skip

MESHED = dataclasses.replace(
    SOUND, bypassed_calls=0, sidecars=Sidecars(silent=0, refused=0, unencrypted=0, encrypted=True)
)

IN_A_CLUSTER = dataclasses.replace(SOUND, clock_offset_ms=0.1)

OVER_A_NETWORK = dataclasses.replace(SOUND, network_off_ns=0)

TRIPS = {
    "a wrong answer": ("parity", {"parity_mismatches": 1}),
    "parity never checked": ("parity", {"parity_mismatches": None}),
    "a journey unsent": ("tape_unsent", {"journeys_sent": 999}),
    "late starts": ("start_lag_p99_ms", {"start_lag_p99_ms": 1.0}),
    "some very late starts": ("start_lag_mean_ms", {"start_lag_mean_ms": 0.4}),
    "answers that lie unread": ("answer_lag_ms", {"answer_lag_ms": 1.0}),
    "a trace without its statements": ("spans_missing", {"spans_missing": 1}),
    "spans never compared with each other": ("spans_missing", {"spans_missing": None}),
    "another clock": ("spans_outside", {"spans_outside": 40}),
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
    "programs outside the run": ("other_cores", {"other_cores": 0.25}),
    "a disk that stalls": ("disk_stall_share", {"disk_stall_share": 0.01}),
    "steal not measured": ("steal_share", {"steal_share": None}),
}

TRIPS_OF_A_MESH = {
    "a call past a sidecar": ("bypassed_calls", 1),
    "a sidecar that does not answer": ("silent_sidecars", 1),
    "statistics never read": ("silent_sidecars", None),
    "a configuration refused": ("config_refused", 1),
    "refusals not counted": ("config_refused", None),
    "a sidecar that was reached in plaintext": ("unencrypted_sidecars", 1),
    "handshakes not counted": ("unencrypted_sidecars", None),
}


def with_mesh(name, value):
    """Makes the figures of a sound run with a mesh, except for the value of one gate."""
    if name == "bypassed_calls":
        return dataclasses.replace(MESHED, bypassed_calls=value)
    field = {"silent_sidecars": "silent", "config_refused": "refused", "unencrypted_sidecars": "unencrypted"}[name]
    return dataclasses.replace(MESHED, sidecars=dataclasses.replace(MESHED.sidecars, **{field: value}))


def test_a_sound_run_with_a_mesh_is_valid():
    assert failing_gates(evaluate(MESHED)) == []


@pytest.mark.parametrize(("name", "changes"), TRIPS.values(), ids=TRIPS)
def test_a_defect_trips_its_gate(name, changes):
    gates = evaluate(dataclasses.replace(SOUND, **changes))
    assert failing_gates(gates) == [name]
    assert verdict_of(gates) != VALID


@pytest.mark.parametrize(("name", "value"), TRIPS_OF_A_MESH.values(), ids=TRIPS_OF_A_MESH)
def test_a_defect_of_a_mesh_trips_its_gate(name, value):
    assert failing_gates(evaluate(with_mesh(name, value))) == [name]


@pytest.mark.parametrize(
    ("sound", "name", "trips"),
    [
        (OVER_A_NETWORK, "network_off_ns", 1),
        (IN_A_CLUSTER, "clock_offset_ms", 0.2),
    ],
)
def test_a_gate_of_some_runs_is_tripped_there_and_missing_elsewhere(sound, name, trips):
    assert failing_gates(evaluate(dataclasses.replace(sound, **{name: trips}))) == [name]
    assert failing_gates(evaluate(sound)) == []
    assert name not in {gate["name"] for gate in evaluate(SOUND)}


@pytest.mark.parametrize(("offset_ms", "held"), [(None, True), (0.0, True), (0.1, False)])
def test_spans_outside_of_their_callers_are_an_error_wherever_all_have_one_clock(offset_ms, held):
    gates = evaluate(dataclasses.replace(SOUND, clock_offset_ms=offset_ms, spans_outside=1))
    assert ("spans_outside" in failing_gates(gates)) == held


def test_every_gate_is_tripped_by_a_case_above():
    tripped = {name for name, _ in TRIPS.values()}
    assert {gate["name"] for gate in evaluate(SOUND)} == tripped
    assert {gate["name"] for gate in evaluate(MESHED)} == tripped | {name for name, _ in TRIPS_OF_A_MESH.values()}


LEFT_OUT = {
    "no mesh": ({}, {}),
    "a mesh without mTLS": (
        {"bypassed_calls": 0, "sidecars": Sidecars(silent=0, refused=0, unencrypted=None, encrypted=False)},
        {"unencrypted_sidecars": "the sidecars ran without mTLS"},
    ),
    "a closed loop, which goes by no times of a tape": (
        {"closed": True, "journeys_sent": 400, "start_lag_p99_ms": 50.0, "start_lag_mean_ms": 9.0},
        dict.fromkeys(("tape_unsent", "start_lag_p99_ms", "start_lag_mean_ms"), "closed loop"),
    ),
    "waits for disks that nobody counts": (
        {"disk_stall_share": None}, {"disk_stall_share": "waits for the disk are not counted here"}
    ),
    "no edge": (
        {"edge_logged": False, "edge_unmatched": None, "agreements": []},
        dict.fromkeys(("edge_unmatched", "edge_off_ms"), "without an edge"),
    ),
    "no audit": ({"audited": False, "invariants_broken": None}, {"invariants_broken": "store=memory"}),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "reasons"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_what_cannot_be_measured_is_left_out_with_the_reason_and_never_reported_to_hold(changes, reasons):
    evidence = dataclasses.replace(SOUND, **changes)
    found = {row["name"]: row["reason"] for row in left_out(evidence)}
    assert verdict_of(evaluate(evidence)) == VALID
    assert found.keys() == reasons.keys()
    assert all(words in found[name] for name, words in reasons.items())
    assert reasons.keys().isdisjoint(gate["name"] for gate in evaluate(evidence))


def test_without_traces_a_call_past_a_sidecar_cannot_be_seen():
    untraced = dataclasses.replace(MESHED, traced=False, agreements=[], bypassed_calls=None)
    assert verdict_of(evaluate(untraced)) == VALID
    assert {"name": "bypassed_calls", "reason": "no journey was traced"} in left_out(untraced)


@pytest.mark.parametrize(
    ("changes", "valid"),
    [
        ({"start_lag_p99_ms": 3.0, "latency_median_ms": 100.0}, True),
        # All answers of a journey together may be read 5 % of its median late.
        ({"answer_lag_ms": 2.0, "latency_median_ms": 100.0, "requests": 2}, True),
        ({"answer_lag_ms": 2.0, "latency_median_ms": 100.0, "requests": 5}, False),
        # An edge that is late itself sends its answers late.
        ({"answer_lag_ms": 5.9, "edge_lag_ms": 2.0}, True),
        ({"answer_lag_ms": 6.1, "edge_lag_ms": 2.0}, False),
        ({"stress": True, "failures": 500}, True),
    ],
)
def test_more_is_allowed_where_it_changes_little(changes, valid):
    assert (verdict_of(evaluate(dataclasses.replace(SOUND, **changes))) == VALID) is valid


def test_the_journey_farthest_off_for_its_allowance_is_shown():
    rows = [Agreement("bulk_lines", 100, 1.0, 2.0), Agreement("product", 100, 0.15, 0.2)]
    (gate,) = [one for one in evaluate(dataclasses.replace(SOUND, agreements=rows)) if one["name"] == "edge_off_ms"]
    assert (gate["value"], gate["limit"]) == (pytest.approx(0.15), 0.2)


def test_a_run_without_traces_has_no_trace_gates():
    untraced = dataclasses.replace(SOUND, traced=False, agreements=[], answer_lag_ms=None)
    names = {gate["name"] for gate in evaluate(untraced)}
    lags = {"start_lag_p99_ms", "start_lag_mean_ms"}
    before_and_during = {"parity", "tape_unsent", "generator_cores", "failure_share"} | lags
    assert names == before_and_during | {"invariants_broken", "steal_share", "other_cores", "disk_stall_share"}


def test_a_tape_that_ran_out_trips_its_gate():
    closed = dataclasses.replace(SOUND, closed=True, tape_exhausted=True)
    assert failing_gates(evaluate(closed)) == ["tape_exhausted"]


@pytest.mark.parametrize(("late", "holds"), [(0, True), (9, True), (10, False)])
def test_customers_of_a_warm_visit_are_ready_but_for_a_few(late, holds):
    assert SOUND.journeys_sent == 1000
    gates = {gate["name"]: gate for gate in evaluate(dataclasses.replace(SOUND, late_customers=late))}
    assert gates["late_customers"]["ok"] == holds
    assert "late_customers" not in {gate["name"] for gate in evaluate(SOUND)}


@pytest.mark.parametrize(
    "changes", [{}, {"stress": True}, {"traced": False}, {"closed": True}, {"edge_logged": False}, {"audited": False}]
)
def test_a_gate_is_either_looked_at_or_left_out(changes):
    evidence = dataclasses.replace(SOUND, **changes)
    looked_at = {gate["name"] for gate in evaluate(evidence)}
    skipped = {gate["name"] for gate in left_out(evidence)}
    assert looked_at | skipped >= {name for name, _ in TRIPS.values()}
    assert not looked_at & skipped


def test_the_programs_that_run_a_node_are_allowed_for_in_a_cluster_only():
    def holds(evidence, cores):
        gates = {gate["name"]: gate for gate in evaluate(dataclasses.replace(evidence, other_cores=cores))}
        return gates["other_cores"]["ok"]

    assert not holds(SOUND, 0.3)
    assert holds(IN_A_CLUSTER, 0.3)
    assert not holds(IN_A_CLUSTER, 0.6)


@pytest.mark.parametrize(
    ("broken", "unanswered", "unsettled", "other_cores", "verdict"),
    [
        (0, 0, 0, 0.1, VALID),
        (0, 0, 0, 9.0, VALID),
        (0, 1, 0, 0.1, WRONG),
        (0, 1, 0, 9.0, NOISY),
        (1, 1, 0, 9.0, WRONG),
        (0, 1, 1, 9.0, WRONG),
        (0, 0, 1, 9.0, WRONG),
        (1, 0, 0, 9.0, WRONG),
    ],
)
def test_a_busy_machine_excuses_an_answer_that_did_not_come_and_nothing_else(
    broken: int, unanswered: int, unsettled: int, other_cores: float, verdict: str
) -> None:
    assert audit_verdict(broken, unanswered, unsettled, other_cores) == verdict
