"""What must hold before a figure may be trusted: an experiment is VALID, or SUSPECT with reasons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hops.gates.edge_agreement import Agreement
from hops.run.documents import Gate, LeftOut
from hops.traces.tree import Quality


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that the gates look at. None stands for "not measured", which no gate lets pass.

    Args:
        parity_mismatches: answers that differ from the reference.
        invariants_broken: of the shop's data, after the replay.
        journeys_planned: on the tape.
        journeys_sent: rows of the replay.
        start_lag_p99_ms: 99th percentile of actual less intended start.
        latency_median_ms: of all journeys.
        generator_cores: CPU seconds of the generator for each second of the replay.
        failures: journeys whose outcome is not ok.
        spans_dropped: by exporters.
        traced: whether the run sampled any journey; without, the gates on traces are left out.
        traces_expected: sampled journeys.
        traces_found: in the trace store.
        quality: of the found traces, added up.
        budget_gap_ns: the farthest that any trace's parts are from adding up.
        edge_logged: whether an edge stood before the topology, which logs every request; without, the gates on its log
            are left out.
        edge_unmatched: requests of sampled journeys that only one of traces and edge's log has.
        agreements: traces beside the generator's clock and the edge's log.
        unattributed_share: of the mean budget over all traces, 0 to 1.
        steal_share: CPU time that the hypervisor gave to others, 0 to 1.
        other_cores: used by programs that are no part of the run.
        stress: failures are what the run is for, and no gate.
        closed: virtual users sent the journeys, each after its answer; the tape gave no times.
        tape_exhausted: the tape ended before the time of a closed loop was over.
    """

    parity_mismatches: int | None
    invariants_broken: int | None
    journeys_planned: int
    journeys_sent: int
    start_lag_p99_ms: float | None
    latency_median_ms: float | None
    generator_cores: float | None
    failures: int
    steal_share: float | None
    other_cores: float | None
    spans_dropped: int = 0
    traced: bool = True
    traces_expected: int = 0
    traces_found: int = 0
    quality: Quality = field(default_factory=Quality)
    budget_gap_ns: int | None = None
    edge_logged: bool = True
    edge_unmatched: int | None = None
    agreements: Sequence[Agreement] = ()
    unattributed_share: float | None = None
    stress: bool = False
    closed: bool = False
    tape_exhausted: bool = False


START_LAG_MS = 1.0
START_LAG_SHARE = 0.05
GENERATOR_CORES = 0.8
FAILURE_SHARE = 0.001
ORPHAN_SHARE = 0.001
UNATTRIBUTED_SHARE = 0.01
STEAL_SHARE = 0.02
OTHER_CORES = 0.25

EDGE_GATES = ("edge_unmatched", "edge_off_ms")


def evaluate(evidence: Evidence) -> list[Gate]:
    """Holds the evidence against every gate that applies.

    Returns:
        The gates in the order of the run: before, during, after the load.
    """
    checks: list[Callable[[Evidence], Gate]] = [parity]
    checks += [tape_lasted] if evidence.closed else [tape_sent, start_lag]
    checks.append(generator_cpu)
    if not evidence.stress:
        checks.append(failures)
    if evidence.traced:
        checks += [spans_lost, orphans, budgets_close]
        checks += [edge_matched, edge_agrees] if evidence.edge_logged else []
        checks.append(unattributed)
    checks += [invariants, steal, others]
    return [check(evidence) for check in checks]


def left_out(evidence: Evidence) -> list[LeftOut]:
    """The gates that `evaluate` leaves out, each with its reason."""
    found = []
    if evidence.closed:
        found += [
            LeftOut(
                name="tape_unsent", reason="a closed loop goes by time, and sends as much of the tape as it gets to"
            ),
            LeftOut(name="start_lag_p99_ms", reason="in a closed loop nothing says when a journey should start"),
        ]
    if evidence.stress:
        found.append(LeftOut(name="failure_share", reason="failures are what the run is for"))
    if not evidence.traced:
        names = ("spans_lost", "orphan_share", "budget_gap_ns", *EDGE_GATES, "unattributed_share")
        found += [LeftOut(name=name, reason="no journey was traced") for name in names]
    elif not evidence.edge_logged:
        found += [LeftOut(name=name, reason="without an edge nothing logs every request") for name in EDGE_GATES]
    return found


def is_valid(gates: Sequence[Gate]) -> bool:
    """Whether every gate holds."""
    return all(gate["ok"] for gate in gates)


def parity(evidence: Evidence) -> Gate:
    """Answers that differ from the reference: none."""
    return _at_most("parity", evidence.parity_mismatches, 0)


def tape_sent(evidence: Evidence) -> Gate:
    """Journeys on the tape that were not sent: none."""
    return _at_most("tape_unsent", evidence.journeys_planned - evidence.journeys_sent, 0)


def tape_lasted(evidence: Evidence) -> Gate:
    """Whether a closed loop came to the end of its tape before its time was over: 1 if so; it must not."""
    return _at_most("tape_exhausted", int(evidence.tape_exhausted), 0)


def start_lag(evidence: Evidence) -> Gate:
    """p99 of the start lag: under 1 ms or 5 % of the median latency, whichever is more."""
    median_ms = evidence.latency_median_ms or 0.0
    return _below("start_lag_p99_ms", evidence.start_lag_p99_ms, max(START_LAG_MS, START_LAG_SHARE * median_ms))


def generator_cpu(evidence: Evidence) -> Gate:
    """The generator's CPU: below 80 % of one core, its share of the machine."""
    return _below("generator_cores", evidence.generator_cores, GENERATOR_CORES)


def failures(evidence: Evidence) -> Gate:
    """Failed journeys: under 0.1 %."""
    return _below("failure_share", _share(evidence.failures, evidence.journeys_sent), FAILURE_SHARE)


def spans_lost(evidence: Evidence) -> Gate:
    """Spans known to be lost: dropped by an exporter, of a trace not found or without its root, of a callee: none."""
    quality = evidence.quality
    traces = evidence.traces_expected - evidence.traces_found
    return _at_most("spans_lost", evidence.spans_dropped + traces + quality.empty + quality.missing_servers, 0)


def orphans(evidence: Evidence) -> Gate:
    """Spans whose parent never arrived: under 0.1 %."""
    return _below("orphan_share", _share(evidence.quality.orphans, evidence.quality.spans), ORPHAN_SHARE)


def budgets_close(evidence: Evidence) -> Gate:
    """Parts of every trace add up to its total: to 0 ns."""
    return _at_most("budget_gap_ns", evidence.budget_gap_ns, 0)


def edge_matched(evidence: Evidence) -> Gate:
    """Requests of sampled journeys that only the traces or only the edge's log have: none."""
    return _at_most("edge_unmatched", evidence.edge_unmatched, 0)


def edge_agrees(evidence: Evidence) -> Gate:
    """Traces against the generator's clock and the edge's log: the journey that is farthest off for its allowance."""
    if not evidence.agreements:
        return _at_most("edge_off_ms", None, 0.0)
    worst = max(evidence.agreements, key=lambda row: row.off_ms / row.allowed_ms)
    return _at_most("edge_off_ms", worst.off_ms, worst.allowed_ms)


def unattributed(evidence: Evidence) -> Gate:
    """Time of the mean budget that fits no part: at most 1 %."""
    return _at_most("unattributed_share", evidence.unattributed_share, UNATTRIBUTED_SHARE)


def invariants(evidence: Evidence) -> Gate:
    """Invariants of the shop that its data break after the replay: none."""
    return _at_most("invariants_broken", evidence.invariants_broken, 0)


def steal(evidence: Evidence) -> Gate:
    """CPU time that the hypervisor gave to others: under 2 %."""
    return _below("steal_share", evidence.steal_share, STEAL_SHARE)


def others(evidence: Evidence) -> Gate:
    """Cores that programs beside the run took from it: under a quarter of one."""
    return _below("other_cores", evidence.other_cores, OTHER_CORES)


def _at_most(name: str, value: float | None, limit: float) -> Gate:
    return Gate(name=name, value=value, limit=limit, ok=value is not None and value <= limit)


def _below(name: str, value: float | None, limit: float) -> Gate:
    return Gate(name=name, value=value, limit=limit, ok=value is not None and value < limit)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
