"""Compares traces with two independent witnesses: the generator's clock, and the edge's access log.

The parts of a budget always add up to the length of its root span. So their sum does not prove that spans have the
right times, or that they belong to the journey of their trace. The edge logs every request with a separate, monotonic
clock. The edge's spans have wall-clock times, and come through an exporter, the trace store and a reader. The generator
records each journey's latency. Let L be a journey's measured latency, and R the length of its root span. Let Eᵢ be the
length of its i-th request at the edge, as the budget counts it, and Dᵢ the same in the log. The trace is off by

    |L - R| + Σ |Eᵢ - Dᵢ|

This is 0 only if L is the traced time before the edge (start lag, client, wire) plus the logged time behind it. The
generator reads its clock once for both L and R. So the first term finds journeys that were mixed up, and roots that
changed on the way; the log covers everything between them.

Envoy ends a span a little after it logs the answer's last byte. On a busy machine it may be suspended in between. Then
that trace is off by milliseconds although its figures are right. So a journey's value is the mean over its traces
without the fifth of them that is off most. A clock or component with wrong times affects all traces, so its error
remains in the mean.

Over QUIC, Envoy notes the end of an answer once it has sent the packets; the client may have read the last of them by
then. The budget cuts the edge's span where the client's ends, so Dᵢ may be longer than Eᵢ by what was cut off. It may
not be longer by more than the log says that the edge took to forward the answer, because nobody can read an answer
before the edge has it. So spans that are shifted or too long are still found.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from hops.budget.parts import Budget
from hops.gates.limits import EDGE_MS_PER_REQUEST, EDGE_SHARE
from hops.units import NS_PER_MS

INTERRUPTED_SHARE = 0.2
"""Share of a journey's traces in which the edge may have been suspended between its two clock readings."""


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """A line of the edge's access log.

    Args:
        trace_id: 32 hex digits, from the request's `traceparent`.
        span_id: 16 hex digits, from the same header: the id of the edge's span or of the client's.
        duration_ns: Time from the request's first byte to the answer's last; None if the client did not wait for the
            answer.
        sending_ns: Last part of that time, from the last byte of the component's answer; 0 if nothing was forwarded.
        behind_ns: Middle part of that time, from the first byte sent to the component to the last byte of its answer;
            None if the edge did not record it.
    """

    trace_id: str
    span_id: str
    duration_ns: int | None
    sending_ns: int = 0
    behind_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far the traces of one journey are off.

    Args:
        off_ms: Mean over these traces, without the fifth in which the edge may have been suspended.
        allowed_ms: 2 % of the mean measured latency, at least 0.2 ms for each request.
    """

    journey: str
    traces: int
    off_ms: float
    allowed_ms: float


@dataclass(frozen=True, slots=True)
class EdgeAgreement:
    """Traces compared with the witnesses; `unmatched` requests are only in the log, or only in the traces."""

    agreements: Sequence[Agreement]
    unmatched: int


def compare_with_edge(
    journeys: pl.DataFrame, budgets: Iterable[Budget], logged: Iterable[LoggedRequest]
) -> EdgeAgreement:
    """Compares each traced journey with its measured latency and the edge's log."""
    sampled = journeys.filter("sampled").select("trace_id", "latency_ns")
    latency_ns: dict[str, int] = dict(sampled.iter_rows())
    lines: dict[str, dict[str, LoggedRequest]] = {trace_id: {} for trace_id in latency_ns}
    for line in logged:
        if line.trace_id in lines:
            lines[line.trace_id][line.span_id] = line
    # By journey, for each trace: its measured latency, how far it is off, and how many requests it has.
    rows: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    unmatched = 0
    for budget in budgets:
        # Lines that are left at the end have no trace.
        by_span = lines.pop(budget.trace_id, None)
        if by_span is None:
            continue
        measured_ns = latency_ns[budget.trace_id]
        off_ns = abs(measured_ns - budget.total_ns)
        for request in budget.edge_requests:
            line_id = next((span_id for span_id in request.span_ids if span_id in by_span), None)
            if line_id is None:
                unmatched += 1
                continue
            line = by_span.pop(line_id)
            if line.duration_ns is not None:
                longer_ns = line.duration_ns - request.ns
                not_waited_for_ns = min(request.cut_ns, line.sending_ns)
                off_ns += max(-longer_ns, longer_ns - not_waited_for_ns, 0)
        unmatched += len(by_span)
        rows[budget.journey].append((measured_ns, off_ns, len(budget.edge_requests)))
    unmatched += sum(map(len, lines.values()))
    return EdgeAgreement([_agreement(name, rows[name]) for name in sorted(rows)], unmatched)


def _agreement(journey: str, traces: Sequence[tuple[int, int, int]]) -> Agreement:
    measured_ns, every_off_ns, requests = zip(*traces, strict=True)
    count = len(traces)
    measured_ms = sum(measured_ns) / count / NS_PER_MS
    off_ns = sorted(every_off_ns)[: count - int(INTERRUPTED_SHARE * count)]
    return Agreement(
        journey=journey,
        traces=count,
        off_ms=sum(off_ns) / len(off_ns) / NS_PER_MS,
        allowed_ms=max(EDGE_SHARE * measured_ms, EDGE_MS_PER_REQUEST * max(1.0, sum(requests) / count)),
    )
