"""Every gate: what it measures, its limit, the reason for the limit, and what to do when it fails.

`summary.json` has a gate's name, value and limit; every other text about it comes from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hops.elements import numbers
from hops.run.documents.gate import NOISY, WRONG, Failing, Gate

LAG_SHARE = 0.05
EDGE_LAGS = 3
"""A busy edge reads its callees' answers late, and the client reads the edge's answers 0.9 to 2.0 times as late."""
_OF_MEDIAN = f", or {LAG_SHARE:.0%} of the median latency if that is more".replace("%", " %")
EDGE_SHARE = 0.02
EDGE_MS_PER_REQUEST = 0.2
LOST_BY_OTHERS, UNATTRIBUTED_BY_OTHERS = 0.01, 0.05
"""Limits on spans without a parent and on unattributed time in traces of other systems."""
OTHER_CORES_OF_A_NODE = 0.5
"""Kubelet, container runtime and, on a single node, the control plane run the node and are not part of the run."""

_REPEAT = "Close other programs or lower the load; retry=1 (--retry 1 with a target) repeats a trial that fails."


@dataclass(frozen=True, slots=True)
class Kind:
    """Definition of a gate, the same in every run.

    Args:
        name: Name in `summary.json`.
        text: Meaning of the value, in plain English.
        fails: Verdict on a run in which the gate fails: NOISY only for gates about the machine and the generator's
            timing.
        unit: Unit of value and limit; `%` for shares from 0 to 1; empty for counts.
        more: Condition for another limit, written after the usual one; may be empty.
        remedy: Advice for a failure; empty if the cause must be searched for.
        optional: Whether the gate is omitted for a trial that did not measure the value.
    """

    name: str
    text: str
    why: str
    fails: Failing
    relation: Literal["at most", "below"] = "at most"
    limit: float = 0
    unit: str = ""
    more: str = ""
    remedy: str = ""
    optional: bool = False

    def evaluate(self, value: float | None, limit: float | None = None) -> Gate:
        """Evaluates the gate for one run, against the usual limit or another; a value that was not measured fails."""
        limit = self.limit if limit is None else limit
        ok = value is not None and (value <= limit if self.relation == "at most" else value < limit)
        return Gate(name=self.name, value=value, limit=limit, ok=ok)

    def number(self, value: float | None) -> str:
        """Formats a value or limit with its unit."""
        if value is None:
            return "not measured"
        if self.unit == "%":
            return numbers.share(value, 2)
        text = numbers.count(value) if value == int(value) else numbers.plain(value)
        return f"{text} {self.unit}".rstrip()

    def limit_text(self, limit: float | None = None) -> str:
        """Formats the limit of one run, or the usual limit: `below 1 ms`."""
        if limit is not None and limit != self.limit:
            return f"{self.relation} {self.number(limit)}"
        usual = 100 * self.limit if self.unit == "%" else self.limit
        return f"{self.relation} {usual:g} {self.unit}".rstrip()


_ANSWERS = "a fast wrong answer is not an answer"
_GENERATOR = "the load generator must not be the bottleneck"
_WHOLE = "hop budgets must be complete"
_WITNESSES = "parts that add up may still be the wrong ones"
_PROCESSOR = "other work on the CPU slows down what is measured"
_MESH = "a mesh that is not in use costs less than a mesh in use"
_CLOCKS = "spans and arrivals from several machines are put on one timeline"
_TRIALS = "an experiment is only as good as its trials"

GATES = (
    Kind("parity", "answers that differ from the reference", _ANSWERS, WRONG),
    Kind("tape_unsent", "journeys on the tape that were not sent", _GENERATOR, WRONG),
    Kind("tape_exhausted", "tape ran out early (1 = yes)", "users without a journey put no load on the system", WRONG),
    Kind("start_lag_p99_ms", "start lag at p99", _GENERATOR, NOISY, "below", 1.0, "ms", more=_OF_MEDIAN,
        remedy=_REPEAT),
    Kind("start_lag_mean_ms", "mean start lag", _GENERATOR, NOISY, "below", 0.4, "ms", more=_OF_MEDIAN, remedy=_REPEAT),
    Kind("answer_lag_ms", "median client read lag", _GENERATOR, NOISY, "below", 1.0, "ms",
        more=f"{_OF_MEDIAN}, all requests of a journey together; "
        f"or {EDGE_LAGS} times what the front proxy needs to read an answer", remedy=_REPEAT),
    Kind("generator_cores", "CPU of the load generator", _GENERATOR, NOISY, "below", 0.8, "cores", remedy=_REPEAT),
    Kind("late_customers", "journeys that had to open their customer's connections",
        "on a warm visit, the connections are already open", WRONG, relation="below", limit=0.01, unit="%",
        remedy="Connections are opened anew after a failed journey, and if more journeys are under way than customers "
        "were prepared: lower the load, or give visit=first."),
    Kind("failure_share", "failed journeys", "fast failures flatter the latencies", WRONG, "below", 0.001, "%"),
    Kind("spans_lost", "lost spans", _WHOLE, WRONG),
    Kind("orphan_share", "orphaned spans", _WHOLE, WRONG, unit="%"),
    Kind("traces_missing", "requested traces that were not found", _WHOLE, WRONG, limit=0.01, unit="%",
        remedy="The target's sampler must follow the caller's decision (parentbased_always_on), its exporter must keep "
        "up, and its spans must be where the key traces in the target file says."),
    Kind("calls_unanswered", "unanswered calls that are usually answered", _WHOLE, WRONG, limit=0.01, unit="%",
        remedy="Spans of the callee were lost, or came more than a minute after the load."),
    Kind("answers_longer", "requests shorter than the spans that answer them", _WITNESSES, NOISY, limit=0.01, unit="%",
        remedy="Spans end late on a busy machine, or last beyond the answer: use a separate span for background work."),
    Kind("spans_missing", "traces that lack a span that their kind has", _WHOLE, WRONG),
    Kind("spans_outside", "spans outside of their callers' spans", "a machine has one clock", WRONG),
    Kind("budget_gap_ns", "largest budget imbalance", _WHOLE, WRONG, unit="ns"),
    Kind("network_off_ns", "largest difference between a budget and the emulated network",
        "the time on the emulated network is known exactly", WRONG, unit="ns", optional=True),
    Kind("edge_unmatched", "requests missing from traces or access log", _WITNESSES, WRONG),
    Kind("edge_off_ms", "largest disagreement of traces with client clock and access log", _WITNESSES, WRONG,
        limit=EDGE_MS_PER_REQUEST, unit="ms",
        more=f" for each request, or {EDGE_SHARE:.0%} of the latency if that is more".replace("%", " %")),
    Kind("unattributed_share", "unattributed time", _WHOLE, WRONG, limit=0.01, unit="%"),
    Kind("clock_offset_ms", "largest offset between the clocks of two nodes", _CLOCKS, WRONG, "below", 0.2, "ms",
        remedy="Synchronize the nodes' clocks (chrony, NTP), or run everything on one node.", optional=True),
    Kind("bypassed_calls", "calls that bypassed a sidecar", _MESH, WRONG,
        remedy="The hop budget names them: in a mesh, every wire except client→edge has a sidecar at an end."),
    Kind("invariants_broken", "broken invariants", _ANSWERS, WRONG),
    Kind("unanswered", "purchases without an answer, although retried", _ANSWERS, WRONG),
    Kind("unanswered_on_busy", "purchases without an answer on a busy machine, none of them lost",
        "on a busy machine, an answer may take longer than customers wait", NOISY, remedy=_REPEAT),
    Kind("unsettled", "sagas or updates that never ended", _ANSWERS, WRONG),
    Kind("silent_sidecars", "sidecars without statistics", "what was not measured proves nothing", WRONG,
        remedy="The sidecar's log in the trial's folder shows whether it ended or was too busy to answer."),
    Kind("config_refused", "configuration updates that sidecars refused",
        "a sidecar that refuses an update keeps its old configuration", WRONG,
        remedy="The sidecar's log in the trial's folder shows what it refused and why."),
    Kind("unencrypted_sidecars", "inbound sidecars without a TLS handshake", _MESH, WRONG,
        remedy="Either nobody called the component, or callers reached it in plaintext; the hop budget shows which."),
    Kind("steal_share", "CPU steal", _PROCESSOR, NOISY, "below", 0.02, "%", remedy=_REPEAT),
    Kind("other_cores", "CPU of other programs", _PROCESSOR, NOISY, "below", 0.25, "cores",
        more=f", or {OTHER_CORES_OF_A_NODE:g} for each node of a cluster, whose own programs count as others",
        remedy=_REPEAT),
    Kind("disk_stall_share", "seconds in which the disk stalled",
        "commits wait for the disk, and so does the p99 of journeys that write", NOISY, "below", 0.01, "%",
        remedy=_REPEAT),
    Kind("speed_off_share", "deviation of the machine's speed from that of other trials",
        "times are compared at one speed of the machine", NOISY, limit=0.08, unit="%", remedy=_REPEAT),
    Kind("answers_differ", "distinct answer digests beyond the first", _ANSWERS, WRONG,
        remedy="The journeys are named below. In a target file, the key ignore leaves out what may differ."),
    Kind("stopped", "searches that ended early", "what was not measured proves nothing", WRONG),
    Kind("without_rate", "searches that found no rate", "a search must find something", WRONG),
    Kind("updates_missed", "updates that did not reach a watcher", "each update must arrive", WRONG),
    Kind("updates_repeated", "updates that came twice", "only a reconnection may repeat one", WRONG),
    Kind("without_updates", "arms in which no update came", "lateness is unknown without updates", WRONG),
    Kind("updates_gap_ns", "largest budget imbalance of an update", _WHOLE, WRONG, unit="ns"),
    Kind("updates_unattributed_share", "unattributed time of updates", _WHOLE, WRONG, limit=0.01, unit="%"),
    Kind("updates_untraced_share", "updates whose trace is incomplete", _WHOLE, WRONG, limit=0.01, unit="%"),
    Kind("growing", "figures that grow and should not", "a leak ends in an outage", WRONG),
    Kind("too_short", "components that were watched for too short a time", "what fills once looks like a leak", WRONG,
        remedy="Give minutes=60 or more."),
    Kind("unseen", "topologies or targets of which no process was seen", "what was not measured proves nothing", WRONG,
        remedy="The processes of a target must run on this machine, under a user whose processes you may see."),
    Kind("unsteady", "numbers of connections at which memory still changed",
        "a connection's share needs memory at rest", WRONG,
        remedy="Leave the machine idle, or repeat the run."),
    Kind("code_changed", "distinct commits beyond the first", _TRIALS, WRONG),
    Kind("block_spread_share", "worst spread of p50 over blocks beyond chance", "blocks must repeat the same thing",
        NOISY, "below", 0.15, "%",
        remedy="Leave the machine idle during the run."),
    Kind("block_worst_share", "largest deviation of a block's p50 from other blocks' beyond chance",
        "one bad block leaves the intervals of p99 too narrow", NOISY, "below", 0.1, "%",
        remedy="Leave the machine idle during the run."),
)  # fmt: skip
"""Every gate, in the order of a run: before, during and after the load of a trial, then over trials."""
_BY_NAME = {kind.name: kind for kind in GATES}


def kind_of(name: str) -> Kind:
    """Looks up a gate by name; a gate from another version has only its name."""
    return _BY_NAME.get(name) or Kind(name, name, "", WRONG)


def gate_name(name: str) -> str:
    """Gives the meaning of a gate's value, in words."""
    return kind_of(name).text


def gate_failure(gate: Gate) -> str:
    """Describes a failed gate with its value and its limit."""
    kind = kind_of(gate["name"])
    return f"{kind.text}: {kind.number(gate['value'])}, not {kind.limit_text(gate['limit'])}"
