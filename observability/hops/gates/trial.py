"""The gates of a trial: conditions for trusting its figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TypeAlias

from hops.gates.edge_agreement import Agreement
from hops.gates.limits import (
    EDGE_LAGS,
    GATES,
    LAG_SHARE,
    LOST_BY_OTHERS,
    OTHER_CORES_OF_A_NODE,
    UNATTRIBUTED_BY_OTHERS,
    Kind,
    kind_of,
)
from hops.gates.target_traces import TargetTraces
from hops.gates.verdict import failing_gates, verdict_of
from hops.run.documents.gate import Gate, LeftOut, Verdict
from hops.traces.tree import Quality


@dataclass(frozen=True, slots=True)
class Sidecars:
    """What the sidecars of a mesh report about themselves after the load. None means "not measured"."""

    silent: int | None
    refused: int | None
    unencrypted: int | None
    encrypted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """Measurements of a trial other than its rows. None means "not measured".

    Args:
        generator_cores: CPU seconds of the generator for each second of the replay, on the busiest load node.
        steal_share: Share of CPU time that the hypervisor gave to other machines, 0 to 1.
        disk_stall_share: Share of the seconds in which the disk stalled, 0 to 1; None if the kernel does not count
            them.
        audited: Whether the shop's data can be audited after the replay; if not, the gate on its invariants is left
            out.
        clock_offset_ms: Largest difference between the clocks of two nodes of a cluster; None on one machine, which has
            one clock and needs no such gate.
        stress: Whether this is a stress test, or calls fail on purpose: failures are expected, and have no gate.
        closed: Whether virtual users sent the journeys, each as soon as the previous was answered; the tape then sets
            no times.
        late_customers: Journeys of a warm visit that opened their customer's connections themselves; None without an
            emulated network, or on a first visit, where all journeys do.
        of_the_shop: Whether the target is the shop, whose data determine the right answers. For another target, the
            steps of its file determine them.
    """

    parity_mismatches: int | None
    invariants_broken: int | None
    journeys_planned: int
    generator_cores: float | None
    steal_share: float | None
    other_cores: float | None
    disk_stall_share: float | None
    spans_dropped: int = 0
    audited: bool = True
    clock_offset_ms: float | None = None
    sidecars: Sidecars | None = None
    stress: bool = False
    closed: bool = False
    tape_exhausted: bool = False
    late_customers: int | None = None
    of_the_shop: bool = True
    target: TargetTraces | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence(Observed):
    """All evidence for the gates: measurements of a trial, and results from its rows and traces.

    A field with the name of a gate is that gate's value. None means "not measured", which fails every gate.

    Args:
        start_lag_p99_ms: 99th percentile of actual minus intended start, on the worst load node.
        start_lag_mean_ms: Mean of actual minus intended start, on the worst load node: what the lag adds to the mean
            latency.
        answer_lag_ms: Time from the edge's answer until the client had read it, median over traced requests; None with
            a network between client and edge, or without an edge.
        requests: Mean number of requests that a traced journey sends to the edge.
        spans_missing: Traces of journeys that ended ok but lack a span that others of their kind have, or the database
            statement of a component.
        spans_outside: Spans with times impossible on one clock: begun before their parent, or of a callee that mostly
            ends well after its callers.
        network_off_ns: Largest difference between a budget's part `network` and the part of the journey's time that the
            customer's link took. Only journeys with one request at a time count. None without an emulated network, or
            without traces.
        unattributed_share: Unattributed share of the mean budget over the traces of journeys that ended ok, 0 to 1.
    """

    journeys_sent: int
    start_lag_p99_ms: float | None
    latency_median_ms: float | None
    failures: int
    traced: bool = True
    traces_expected: int = 0
    traces_found: int = 0
    quality: Quality = field(default_factory=Quality)
    budget_gap_ns: int | None = None
    network_off_ns: int | None = None
    edge_logged: bool = True
    edge_unmatched: int | None = None
    agreements: Sequence[Agreement] = ()
    unattributed_share: float | None = None
    bypassed_calls: int | None = None
    start_lag_mean_ms: float | None = None
    answer_lag_ms: float | None = None
    edge_lag_ms: float = 0.0
    requests: float = 1.0
    spans_missing: int | None = None
    spans_outside: int | None = None


Measure: TypeAlias = Callable[[Kind, Evidence], Gate | None]
"""Measures a gate of a trial; None if it does not apply."""
NOT_AUDITED = "with store=memory, a run changes data only in the services' memory, which no audit sees"
AUDIT_GATES = ("invariants_broken", "unanswered", "unsettled")
"""Gates that fail if a fault lost or doubled something, or left it unfinished."""
MACHINE_GATES = ("steal_share", "other_cores")
"""Gates that fail on a busy machine."""
EDGE_GATES = ("edge_unmatched", "edge_off_ms")
TRACE_GATES = (
    "spans_lost",
    "orphan_share",
    "spans_missing",
    "spans_outside",
    "budget_gap_ns",
    *EDGE_GATES,
    "unattributed_share",
)


def evaluate(evidence: Evidence) -> list[Gate]:
    """Compares the evidence with every gate that applies, in the order of the run: before, during, after the load."""
    skipped = {row["name"] for row in left_out(evidence)}
    gates = (_gate(kind, evidence) for kind in GATES if kind.name not in skipped)
    return [gate for gate in gates if gate is not None]


def _gate(kind: Kind, evidence: Evidence) -> Gate | None:
    if kind.name in _MEASURES:
        return _MEASURES[kind.name](kind, evidence)
    if kind.name not in _FIELDS:
        return None
    value = getattr(evidence, kind.name)
    return None if value is None and kind.optional else kind.evaluate(value)


def audit_gates(unanswered: int, unsettled: int, others: Sequence[Gate]) -> list[Gate]:
    """Evaluates the gates on how a fault affected customers and sagas.

    A purchase without an answer says nothing about the shop if the machine was busy and the audit found no other error.
    """
    failing = failing_gates(others)
    is_busy = any(name in failing for name in MACHINE_GATES)
    excused = unanswered and is_busy and not unsettled and "invariants_broken" not in failing
    name = "unanswered_on_busy" if excused else "unanswered"
    return [kind_of(name).evaluate(unanswered), kind_of("unsettled").evaluate(unsettled)]


def audit_verdict(broken: int, unanswered: int, unsettled: int, other_cores: float) -> Verdict:
    """Gives the verdict on a proof that injects faults into a shop and audits it.

    VALID if nothing was lost, doubled or left unfinished; NOISY if only a busy machine prevented the proof.
    """
    invariants = kind_of("invariants_broken").evaluate(broken)
    others = [invariants, kind_of("other_cores").evaluate(other_cores)]
    return verdict_of([invariants, *audit_gates(unanswered, unsettled, others)])


def left_out(evidence: Evidence) -> list[LeftOut]:
    """Lists the gates that `evaluate` leaves out, each with its reason; gates of a mesh only if there is a mesh."""
    return [LeftOut(name=name, reason=reason) for reason, names in _reasons(evidence) for name in names]


def _reasons(evidence: Evidence) -> Iterator[tuple[str, Sequence[str]]]:
    if evidence.closed:
        yield "a closed loop ends after a fixed time, wherever it is on the tape", ["tape_unsent"]
        yield "in a closed loop nothing says when a journey should start", ["start_lag_p99_ms", "start_lag_mean_ms"]
    if evidence.stress:
        yield "this run is meant to cause failures", ["failure_share"]
        yield "intended failures may keep the disk busy", ["disk_stall_share"]
        if evidence.traced:
            yield "calls that failed and were retried leave other spans", ["spans_missing"]
    elif evidence.disk_stall_share is None:
        yield "waits for the disk are not counted here", ["disk_stall_share"]
    if not evidence.of_the_shop:
        yield "the target file says what each answer must be; any other is a failure", ["parity"]
        yield "nothing is known of the target's data", ["invariants_broken"]
    elif not evidence.audited:
        yield NOT_AUDITED, ["invariants_broken"]
    if not evidence.traced:
        yield "no journey was traced", TRACE_GATES if evidence.sidecars is None else (*TRACE_GATES, "bypassed_calls")
    elif evidence.target is not None:
        yield "which spans another system's traces must have is unknown", ["spans_missing"]
        yield "clocks of other systems are not compared", ["spans_outside"]
        yield "another target has no log to compare with", EDGE_GATES
    elif not evidence.edge_logged:
        yield "without an edge, or while the edge still runs, there is no complete log of the requests", EDGE_GATES
    if evidence.sidecars is not None and not evidence.sidecars.encrypted:
        yield "the sidecars ran without mTLS", ["unencrypted_sidecars"]


def _spans_lost(evidence: Evidence) -> int:
    """Counts lost spans: dropped spans, traces that were not found or have no root, and missing spans of callees."""
    if evidence.target is not None:  # other systems do not count lost spans; `TargetTraces` counts missing answers
        return evidence.spans_dropped
    traces = evidence.traces_expected - evidence.traces_found
    return evidence.spans_dropped + traces + evidence.quality.empty + evidence.quality.missing_servers


def _lag(kind: Kind, evidence: Evidence, value_ms: float | None) -> Gate:
    return kind.evaluate(value_ms, max(kind.limit, LAG_SHARE * (evidence.latency_median_ms or 0.0)))


def _answer_lag(kind: Kind, evidence: Evidence) -> Gate | None:
    if evidence.answer_lag_ms is None:
        return None
    of_median_ms = LAG_SHARE * (evidence.latency_median_ms or 0.0) / evidence.requests
    return kind.evaluate(evidence.answer_lag_ms, max(kind.limit, of_median_ms, EDGE_LAGS * evidence.edge_lag_ms))


def _edge_agrees(kind: Kind, evidence: Evidence) -> Gate:
    """Finds the journey whose traces are farthest off, relative to its allowance."""
    if not evidence.agreements:
        return kind.evaluate(None, 0.0)
    worst = max(evidence.agreements, key=lambda row: row.off_ms / row.allowed_ms)
    return kind.evaluate(worst.off_ms, worst.allowed_ms)


def _share(part: int | None, whole: int) -> float | None:
    return part / whole if part is not None and whole else None


def _of_mesh(value: Callable[[Evidence, Sidecars], float | None]) -> Measure:
    return lambda kind, seen: None if seen.sidecars is None else kind.evaluate(value(seen, seen.sidecars))


def _of_target(value: Callable[[Evidence, TargetTraces], float | None]) -> Measure:
    return lambda kind, seen: None if seen.target is None else kind.evaluate(value(seen, seen.target))


_FIELDS = {one.name for one in fields(Evidence)}
_MEASURES: Mapping[str, Measure] = {
    "parity": lambda kind, seen: kind.evaluate(seen.parity_mismatches),
    "tape_unsent": lambda kind, seen: kind.evaluate(seen.journeys_planned - seen.journeys_sent),
    "tape_exhausted": lambda kind, seen: kind.evaluate(int(seen.tape_exhausted)) if seen.closed else None,
    "start_lag_p99_ms": lambda kind, seen: _lag(kind, seen, seen.start_lag_p99_ms),
    "start_lag_mean_ms": lambda kind, seen: _lag(kind, seen, seen.start_lag_mean_ms),
    "answer_lag_ms": _answer_lag,
    "late_customers": lambda kind, seen: (
        None if seen.late_customers is None else kind.evaluate(_share(seen.late_customers, seen.journeys_sent))
    ),
    "failure_share": lambda kind, seen: kind.evaluate(_share(seen.failures, seen.journeys_sent)),
    "spans_lost": lambda kind, seen: kind.evaluate(_spans_lost(seen)),
    "orphan_share": lambda kind, seen: kind.evaluate(
        _share(seen.quality.orphans, seen.quality.spans), kind.limit if seen.target is None else LOST_BY_OTHERS
    ),
    "traces_missing": _of_target(lambda seen, of: _share(seen.traces_expected - of.found, seen.traces_expected)),
    # If no call is usually answered, there is no reason to expect an answer.
    "calls_unanswered": _of_target(lambda _, of: _share(of.unanswered, of.calls) or 0.0),
    "answers_longer": _of_target(lambda _, of: _share(of.longer, of.requests)),
    # Only on one machine, or on nodes that share one clock.
    "spans_outside": lambda kind, seen: None if seen.clock_offset_ms else kind.evaluate(seen.spans_outside),
    "edge_off_ms": _edge_agrees,
    "unattributed_share": lambda kind, seen: kind.evaluate(
        seen.unattributed_share, kind.limit if seen.target is None else UNATTRIBUTED_BY_OTHERS
    ),
    "bypassed_calls": _of_mesh(lambda seen, _: seen.bypassed_calls),
    "silent_sidecars": _of_mesh(lambda _, sidecars: sidecars.silent),
    "config_refused": _of_mesh(lambda _, sidecars: sidecars.refused),
    "unencrypted_sidecars": _of_mesh(lambda _, sidecars: sidecars.unencrypted),
    "other_cores": lambda kind, seen: kind.evaluate(
        seen.other_cores, kind.limit if seen.clock_offset_ms is None else OTHER_CORES_OF_A_NODE
    ),
}
"""How to measure gates whose value is not a field of the evidence, or that do not apply to every run."""
