"""A comparison with the generator's clock and the edge's log detects every wrong trace, and accepts correct traces."""

from __future__ import annotations

import dataclasses

import msgspec
import polars as pl
import pytest

from hops.budget.parts import budgets_of
from hops.gates.edge_agreement import LoggedRequest, compare_with_edge
from hops.gates.trial import EDGE_GATES, evaluate
from hops.traces.span import Kind

from .test_trial import SOUND

TWO_REQUESTS = """
client login                        INTERNAL 0..20000000 shop.journey=login
|- client start_lag                 INTERNAL 0..100000
|- client POST                      CLIENT   200000..8000000
|  `- edge ingress                  SERVER   600000..7600000
|     `- edge router                CLIENT   700000..7500000
|        `- user POST               SERVER   900000..7300000
`- client GET                       CLIENT   8500000..19900000
   `- edge ingress                  SERVER   8900000..19500000
      `- edge router                CLIENT   9000000..19400000
         `- order GET               SERVER   9200000..19200000
"""
ONE_REQUEST = """
client login                        INTERNAL 0..12000000 shop.journey=login
`- client POST                      CLIENT   100000..11900000
   `- edge ingress                  SERVER   500000..11500000
      `- edge router                CLIENT   600000..11400000
         `- user POST               SERVER   800000..11200000
"""
LATE_NS = 30_000
SENDING_NS = 80_000
FIRST, SECOND = "a" * 32, "b" * 32


@pytest.fixture
def run(draw):
    """Two traces by id, the latencies that the generator recorded, and the edge's log of these journeys."""
    traces = {
        FIRST: [msgspec.structs.replace(span, trace_id=FIRST) for span in draw(TWO_REQUESTS)],
        SECOND: [msgspec.structs.replace(span, trace_id=SECOND) for span in draw(ONE_REQUEST)],
    }
    latencies = {FIRST: 20_000_000, SECOND: 12_000_000}
    log = []
    for trace_id, spans in traces.items():
        for span in spans:
            if span.name == "router":
                (ingress,) = [one for one in spans if one.span_id == span.parent_id]
                # Envoy ends the span a little after the answer's last byte, but logs the time of that byte.
                duration_ns = ingress.end_ns - ingress.start_ns - LATE_NS
                log.append(LoggedRequest(trace_id, span.span_id, duration_ns, SENDING_NS))
    return traces, latencies, log


def compare(traces, latencies, log):
    ids, ns = [*latencies, "c" * 32], [*latencies.values(), 1]
    journeys = pl.DataFrame({"trace_id": ids, "latency_ns": ns, "sampled": [True] * len(latencies) + [False]})
    return compare_with_edge(journeys, budgets_of(traces.values())[0], log)


def failing(found):
    evidence = dataclasses.replace(SOUND, edge_unmatched=found.unmatched, agreements=found.agreements)
    return [gate["name"] for gate in evaluate(evidence) if gate["name"] in EDGE_GATES and not gate["ok"]]


def test_a_sound_run_is_off_by_what_envoy_takes_to_end_its_spans(run):
    found = compare(*run)
    (login,) = found.agreements
    assert (login.journey, login.traces, found.unmatched) == ("login", 2, 0)
    assert login.off_ms == pytest.approx((2 + 1) * LATE_NS / 2 / 1e6)
    assert login.allowed_ms == pytest.approx(0.02 * 16.0)
    assert failing(found) == []


def change_spans(traces, which, **changes):
    def change(span):
        new = {name: change(span) for name, change in changes.items()}
        return msgspec.structs.replace(span, **new) if which(span) else span

    return {trace_id: [change(span) for span in spans] for trace_id, spans in traces.items()}


def of_edge(span):
    return span.service == "edge" and span.kind is Kind.SERVER


def of_client(span):
    return span.service == "client" and span.kind is Kind.CLIENT


WRONG_TIMES = {
    "the edge's spans end too early": (of_edge, {"end_ns": lambda span: span.end_ns - 1_000_000}),
    "the edge's spans begin too late": (of_edge, {"start_ns": lambda span: span.start_ns + 1_000_000}),
    "the edge's spans are shifted": (
        of_edge,
        {"start_ns": lambda span: span.start_ns + 3_000_000, "end_ns": lambda span: span.end_ns + 3_000_000},
    ),
    "the generator's requests end at the headers": (of_client, {"end_ns": lambda span: span.end_ns - 3_000_000}),
    "the generator's requests begin too late": (of_client, {"start_ns": lambda span: span.start_ns + 3_000_000}),
    "a root is longer than its journey": (
        lambda span: not span.parent_id,
        {"end_ns": lambda span: span.end_ns + 1_000_000},
    ),
}


@pytest.mark.parametrize(("which", "changes"), WRONG_TIMES.values(), ids=WRONG_TIMES)
def test_wrong_times_show(run, which, changes):
    traces, latencies, log = run
    assert failing(compare(change_spans(traces, which, **changes), latencies, log)) == ["edge_off_ms"]


@pytest.mark.parametrize(("late", "found"), [(2, []), (3, ["edge_off_ms"])])
def test_an_edge_that_was_suspended_in_few_traces_is_no_wrong_edge(run, late, found):
    traces, latencies, log = run
    ids = [f"{number:032x}" for number in range(10)]
    ten = {one: [msgspec.structs.replace(span, trace_id=one) for span in traces[FIRST]] for one in ids}
    logged = [
        dataclasses.replace(line, trace_id=one, duration_ns=line.duration_ns - 5_000_000 * (one in ids[:late]))
        for one in ids
        for line in log
        if line.trace_id == FIRST
    ]
    assert failing(compare(ten, dict.fromkeys(ids, latencies[FIRST]), logged)) == found


def test_an_answer_may_be_read_before_the_edge_notes_its_end_but_not_before_the_edge_had_it(run):
    traces, latencies, log = run
    late_ns = 3_000_000
    traces = change_spans(traces, of_edge, end_ns=lambda span: span.end_ns + late_ns)
    sent = [
        dataclasses.replace(line, duration_ns=line.duration_ns + late_ns, sending_ns=line.sending_ns + late_ns)
        for line in log
    ]
    assert failing(compare(traces, latencies, sent)) == []
    had_late = [dataclasses.replace(line, sending_ns=SENDING_NS) for line in sent]
    assert failing(compare(traces, latencies, had_late)) == ["edge_off_ms"]


def test_traces_that_are_mixed_up_show(run):
    traces, latencies, log = run
    swapped = {FIRST: SECOND, SECOND: FIRST}
    mixed = {
        swapped[trace_id]: [msgspec.structs.replace(span, trace_id=swapped[trace_id]) for span in spans]
        for trace_id, spans in traces.items()
    }
    assert failing(compare(mixed, latencies, log)) == ["edge_unmatched", "edge_off_ms"]


def test_journeys_that_are_mixed_up_show(run):
    traces, latencies, log = run
    swapped = dict(zip(latencies, reversed(latencies.values()), strict=True))
    assert failing(compare(traces, swapped, log)) == ["edge_off_ms"]


def test_a_request_that_one_side_lacks_shows(run):
    traces, latencies, log = run
    assert compare(traces, latencies, log[1:]).unmatched == 1
    without = {FIRST: [span for span in traces[FIRST] if span.name != "ingress"], SECOND: traces[SECOND]}
    assert compare(without, latencies, log).unmatched == 2
    assert compare({FIRST: traces[FIRST]}, latencies, log).unmatched == 1


def test_a_request_that_the_edge_answered_itself_is_found_by_the_client_s_span(run):
    traces, latencies, log = run
    parents = {span.span_id: span.parent_id for span in traces[SECOND]}
    router = log[-1].span_id
    own = dataclasses.replace(log[-1], span_id=parents[parents[router]])
    alone = {SECOND: [span for span in traces[SECOND] if span.service in ("client", "edge") and span.name != "router"]}
    assert compare(alone, {SECOND: latencies[SECOND]}, [own]).unmatched == 0


def test_a_request_that_was_given_up_is_counted_and_not_compared(run):
    traces, latencies, log = run
    found = compare(traces, latencies, [dataclasses.replace(line, duration_ns=None) for line in log])
    assert (found.unmatched, found.agreements[0].off_ms) == (0, 0.0)
