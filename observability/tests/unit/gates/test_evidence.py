"""The evidence for the gates that is gathered from rows and traces."""

from __future__ import annotations

import dataclasses
from collections import Counter

import polars as pl
import pytest
from msgspec.structs import replace

from hops.budget.parts import POOL_SPAN, budgets_of
from hops.gates.edge_agreement import LoggedRequest
from hops.gates.evidence import evidence_of
from hops.gates.trial import Observed, Sidecars, evaluate, left_out
from hops.gates.verdict import failing_gates, verdict_of
from hops.run.documents.gate import VALID
from hops.traces.span import Kind
from hops.units import CANARY, SERVICES
from synthetic.traces import BASE_NS, shop_trace


def trace(number):
    """Makes a trace of one of four journeys, each of which leaves the same spans every time."""
    return shop_trace(number % 4, trace_id=f"{number + 1:032x}")


def replay(sampled=20, unsampled=80):
    budgets, quality = budgets_of(map(trace, range(sampled)))
    latencies = [budget.total_ns for budget in budgets] + [10_000_000] * unsampled
    count = sampled + unsampled
    journeys = pl.DataFrame(
        {
            "seq": range(count), "journey": ["browse"] * count, "intended_ns": [BASE_NS] * count,
            "started_ns": [BASE_NS + 100_000] * count, "latency_ns": latencies, "outcome": ["ok"] * count,
            "parallel": [1] * count, "network_ns": [0] * count, "sampled": [True] * sampled + [False] * unsampled,
            "trace_id": [budget.trace_id for budget in budgets] + [""] * unsampled,
        }
    )  # fmt: skip
    return journeys, budgets, quality


def log_of(budgets):
    """Makes the edge's log of these traces, with times 30 µs shorter than its spans, and with a warm-up request."""
    lines = [
        LoggedRequest(budget.trace_id, request.span_ids[-1], request.ns - 30_000)
        for budget in budgets
        for request in budget.edge_requests
    ]
    return [*lines, LoggedRequest("f" * 32, "f" * 16, 1_000_000)]


RUN = Observed(
    journeys_planned=100, parity_mismatches=0, invariants_broken=0, generator_cores=0.2, steal_share=0.0,
    other_cores=0.0, disk_stall_share=0.0,
)  # fmt: skip


def test_a_sound_replay_passes():
    journeys, budgets, quality = replay()
    evidence = evidence_of(journeys, budgets, quality, RUN, logged=log_of(budgets))
    assert [evidence.start_lag_p99_ms, evidence.start_lag_mean_ms] == pytest.approx([0.1, 0.1])
    assert (evidence.traces_expected, evidence.traces_found, evidence.budget_gap_ns) == (20, 20, 0)
    assert [row.off_ms for row in evidence.agreements] == pytest.approx([0.03] * len(evidence.agreements))
    assert verdict_of(evaluate(evidence)) == VALID


def failing(spans_of, journeys=None):
    """Returns the gates that fail when each trace is changed."""
    sound = replay()[0] if journeys is None else journeys
    traces = [trace(number) for number in range(20)]
    budgets, quality = budgets_of(spans_of(number, spans) for number, spans in enumerate(traces))
    logs = log_of(budgets_of(traces)[0])
    run = dataclasses.replace(RUN, journeys_planned=sound.height)
    evidence = evidence_of(sound, budgets, quality, run, logged=logs, keepers=SERVICES)
    return set(failing_gates(evaluate(evidence)))


def is_statement(span):
    return span.kind is Kind.CLIENT and "db.system.name" in span.attributes


def move(spans, which, start_ns=0, end_ns=0):
    """Returns the spans, some of which start or end later."""
    return [
        replace(one, start_ns=one.start_ns + start_ns, end_ns=one.end_ns + end_ns) if which(one) else one
        for one in spans
    ]


def of_product(span):
    return span.service == "product"


def with_timeouts(journeys, which):
    outcome = pl.when(which).then(pl.lit("timeout")).otherwise(pl.col("outcome"))
    return journeys.with_columns(outcome.alias("outcome"))


def test_spans_that_were_never_made_are_missed():
    assert not failing(lambda _, spans: spans)
    assert failing(lambda _, spans: [one for one in spans if not is_statement(one)]) == {"spans_missing"}
    assert failing(lambda _, spans: [one for one in spans if not is_statement(one) and one.name != POOL_SPAN]) == {
        "spans_missing"
    }

    def one_lost(number, spans):
        lost = next(one for one in spans if is_statement(one)) if number == 7 else None
        return [one for one in spans if one is not lost]

    assert failing(one_lost) == {"spans_missing"}


def test_a_call_that_was_not_made_has_lost_no_span():
    def one_call_less(number, spans):
        if number != 7:
            return spans
        calls = [one for one in spans if one.kind is Kind.CLIENT and one.service == "graphql-gateway"]
        again = next(one for one in calls if [other.name for other in calls].count(one.name) > 1)
        gone = {again.span_id}
        while below := {one.span_id for one in spans if one.parent_id in gone} - gone:
            gone |= below
        return [one for one in spans if one.span_id not in gone]

    assert "spans_missing" not in failing(one_call_less)


def test_a_canary_makes_the_spans_of_the_component_that_it_stands_in_for():
    def by_canary(number, spans):
        return [replace(one, service=CANARY) if number == 7 and of_product(one) else one for one in spans]

    def one_lost(number, spans):
        return [one for one in by_canary(number, spans) if one.name != POOL_SPAN or number != 7]

    assert "spans_missing" not in failing(by_canary)
    assert "spans_missing" in failing(one_lost)


def test_what_a_request_waited_for_that_was_given_up_need_not_have_begun():
    def given_up(number, spans):
        return [one for one in spans if one.service in ("client", "edge")] if number == 7 else spans

    assert "unattributed_share" in failing(given_up)
    assert "unattributed_share" not in failing(given_up, with_timeouts(replay()[0], pl.col("seq") == 7))


def test_a_cache_hit_needs_no_statement_but_a_trace_needs_one_of_the_two():
    def in_cache(span):
        return replace(span, attributes={"db.system.name": "valkey"}) if is_statement(span) else span

    def some_hits(number, spans):
        kept = [one for one in spans if one.name != POOL_SPAN]
        return map(in_cache, kept) if number % 10 else spans

    assert not failing(some_hits)
    assert failing(lambda at, spans: [one for one in some_hits(at, spans) if at != 7 or not is_statement(one)])


@pytest.mark.parametrize(("status", "lost"), [("hit", False), ("miss", True)])
def test_a_hit_of_a_shared_cache_needs_nothing_behind_it_but_a_miss_does(status, lost):
    def answered_by_the_cache(number, spans):
        if number != 3:
            return spans
        root = next(one for one in spans if not one.parent_id)
        call = next(one for one in spans if one.parent_id == root.span_id and one.kind is Kind.CLIENT)
        answer = next(one for one in spans if one.parent_id == call.span_id and one.kind is Kind.SERVER)
        return [root, call, replace(answer, service="edge-cache", attributes={"shop.edge_cache": status})]

    assert ("spans_missing" in failing(answered_by_the_cache)) is lost


def test_one_lost_call_leaves_an_orphan_which_is_one_too_many():
    def one_lost(number, spans):
        lost = next(one for one in spans if one.kind is Kind.CLIENT and one.service == "graphql-gateway")
        return [one for one in spans if number != 7 or one is not lost]

    assert failing(one_lost) >= {"orphan_share", "spans_missing"}


def test_spans_that_end_a_little_after_their_callers_are_no_other_clock():
    def is_answer(span):
        return of_product(span) and span.kind is Kind.SERVER

    for end_ns in (600_000, 3_000_000):  # the second is late, but a clock that is ahead would show in the start too
        assert "spans_outside" not in failing(lambda _, spans, end_ns=end_ns: move(spans, is_answer, end_ns=end_ns))


def test_work_that_continues_after_its_caller_gave_up_is_no_other_clock():
    def outlast(number, spans):
        return move(spans, of_product, 3_000_000, 3_000_000) if number < 15 else spans

    assert "spans_outside" in failing(outlast)
    assert "spans_outside" not in failing(outlast, with_timeouts(replay()[0], pl.col("seq") < 15))


@pytest.mark.parametrize("ahead_ns", [3_000_000, -3_000_000])
def test_a_component_s_clock_that_is_off_shows(ahead_ns):
    assert failing(lambda _, spans: move(spans, of_product, ahead_ns, ahead_ns)) == {"spans_outside"}


def test_a_client_that_is_late_to_read_or_now_and_then_very_late_to_send_shows():
    def is_reading(span):
        return span.service == "client" and span.name != "start_lag"

    later = replay()[0].with_columns(latency_ns=pl.col("latency_ns") + 3_000_000)
    assert failing(lambda _, spans: move(spans, is_reading, end_ns=3_000_000), later) == {"answer_lag_ms"}
    # These are fewer than one in a hundred, so they do not change p99.
    few = pl.when(pl.col("seq") < 8).then(60_000_000).otherwise(0)
    many = replay(unsampled=980)[0]
    assert not failing(lambda _, spans: spans, many)
    assert failing(lambda _, spans: spans, many.with_columns(started_ns=pl.col("started_ns") + few)) == {
        "start_lag_mean_ms"
    }


DISTANT = """
client product                         INTERNAL 0..100 shop.journey=product
`- client GET                          CLIENT   0..100
   |- client link_up                   INTERNAL 5..25
   |- edge ingress                     SERVER   30..70
   `- client link_down                 INTERNAL 72..92
"""


@pytest.mark.parametrize(
    ("took_ns", "parallel", "outcome", "off_ns"),
    [(40, 1, "ok", 0), (43, 1, "ok", 3), (43, 2, "ok", None), (43, 1, "timeout", None), (0, 1, "ok", None)],
)
def test_the_time_of_the_network_is_compared_with_budgets(draw, took_ns, parallel, outcome, off_ns):
    budgets, quality = budgets_of([draw(DISTANT)])
    values = {"trace_id": budgets[0].trace_id, "network_ns": took_ns, "parallel": parallel, "outcome": outcome}
    journeys = replay()[0].head(1).with_columns(pl.lit(value).alias(name) for name, value in values.items())
    assert evidence_of(journeys, budgets, quality, RUN).network_off_ns == off_ns
    assert evidence_of(journeys, [], quality, RUN).network_off_ns is None


def test_the_start_lag_is_that_of_the_load_node_which_is_worst_off():
    journeys, budgets, quality = replay()
    # One of 100 nodes was late; its journey alone does not move the 99th percentile of all journeys.
    late = pl.when(pl.col("seq") % 100 == 1).then(pl.col("started_ns") + 9_000_000).otherwise(pl.col("started_ns"))
    journeys = journeys.with_columns(started_ns=late)
    alone = evidence_of(journeys, budgets, quality, RUN, logged=log_of(budgets))
    shared = evidence_of(journeys, budgets, quality, RUN, logged=log_of(budgets), load_nodes=100)
    assert shared.start_lag_p99_ms == pytest.approx(9.1)
    assert alone.start_lag_p99_ms < 1


def test_a_trace_not_found_and_a_failed_journey_show():
    journeys, budgets, quality = replay()
    _, fewer = budgets_of(map(trace, range(19)))
    failed = journeys.with_columns(outcome=pl.Series(["timeout"] + ["ok"] * 99))
    gates = evaluate(evidence_of(failed, budgets[:19], fewer, RUN, logged=log_of(budgets)))
    assert [gate["name"] for gate in gates if not gate["ok"]] == ["failure_share", "spans_lost", "edge_unmatched"]
    assert quality.traces == 20


def test_a_replay_without_an_edge_has_no_gates_on_its_log():
    evidence = evidence_of(*replay(), RUN)
    assert verdict_of(evaluate(evidence)) == VALID
    assert [row["name"] for row in left_out(evidence)] == ["edge_unmatched", "edge_off_ms"]


def test_a_replay_whose_data_no_audit_sees_has_no_gate_on_its_invariants():
    journeys, budgets, quality = replay()
    run = dataclasses.replace(RUN, invariants_broken=None, audited=False)
    evidence = evidence_of(journeys, budgets, quality, run, logged=log_of(budgets))
    assert verdict_of(evaluate(evidence)) == VALID
    assert [row["name"] for row in left_out(evidence)] == ["invariants_broken"]


def test_an_untraced_replay_has_no_trace_gates():
    evidence = evidence_of(*replay(sampled=0, unsampled=100), RUN)
    assert evidence.traced is False
    assert verdict_of(evaluate(evidence)) == VALID


def test_in_a_mesh_every_wire_without_a_sidecar_is_a_call_that_bypassed_one():
    journeys, budgets, quality = replay()
    run = dataclasses.replace(RUN, sidecars=Sidecars(silent=0, refused=0, unencrypted=0, encrypted=True))
    evidence = evidence_of(journeys, budgets, quality, run, logged=log_of(budgets))
    wires = Counter()
    for budget in budgets:
        wires += {part: count for part, count in budget.crossings.items() if part.startswith("wire:")}
    assert evidence.bypassed_calls == wires.total() - wires["wire:client→edge"] > 0
    assert evidence_of(journeys, [], quality, run).bypassed_calls is None
