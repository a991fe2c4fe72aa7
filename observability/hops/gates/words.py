"""Gates in words: their names, figures and verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from hops.gates.trial import is_valid
from hops.run.documents import Gate

# What each gate's value is, and how its limit reads; `share` values are shown in percent.
_GATE_TEXTS: dict[str, tuple[str, str]] = {
    "parity": ("answers unlike the reference", "at most"),
    "tape_unsent": ("journeys of the tape not sent", "at most"),
    "tape_exhausted": ("tape at its end before the time (1: yes)", "at most"),
    "start_lag_p99_ms": ("start lag, p99, ms", "below"),
    "generator_cores": ("generator's CPU, cores", "below"),
    "failure_share": ("failed journeys", "below"),
    "spans_lost": ("spans lost", "at most"),
    "orphan_share": ("orphaned spans", "below"),
    "budget_gap_ns": ("budgets' distance from adding up, ns", "at most"),
    "edge_unmatched": ("requests not in both traces and edge's log", "at most"),
    "edge_off_ms": ("traces off clock and edge's log, worst, ms", "at most"),
    # Of runs from before the edge's log was read.
    "traced_off_ms": ("traced from measured mean, worst journey, ms", "at most"),
    "unattributed_share": ("unattributed time", "at most"),
    "invariants_broken": ("invariants that the data break", "at most"),
    "steal_share": ("CPU steal", "below"),
    "other_cores": ("other programs' CPU, cores", "below"),
    "suspect_trials": ("trials that are SUSPECT", "at most"),
    "answers_differ": ("trials' digests of answers beside the first", "at most"),
    "code_changed": ("commits that trials ran on, beside the first", "at most"),
    "block_spread_share": ("spread of p50 over blocks, worst topology", "below"),
}


def verdict(gates: Sequence[Gate]) -> Text:
    """VALID, or SUSPECT with its reasons."""
    if is_valid(gates):
        return Text("VALID: every gate holds.", style="bold")
    reasons = [gate_name(gate["name"]) for gate in gates if not gate["ok"]]
    return Text("SUSPECT: " + "; ".join(reasons) + ".", style="bold")


def gate_text(name: str) -> tuple[str, str]:
    """What a gate's value is, and how its limit reads: `at most` or `below`."""
    return _GATE_TEXTS.get(name, (name, "at most"))


def gate_name(name: str) -> str:
    """What a gate's value is, in words."""
    return gate_text(name)[0]


def gate_failure(gate: Gate) -> str:
    """A gate that does not hold, with its value and its limit."""
    text, relation = gate_text(gate["name"])
    value = "not measured" if gate["value"] is None else gate_number(gate["name"], gate["value"])
    return f"{text}: {value}, not {relation} {gate_number(gate['name'], gate['limit'])}"


def gate_number(name: str, value: float) -> str:
    """A gate's value or limit; shares in percent."""
    if name.endswith("_share"):
        return f"{value:.2%}"
    return f"{int(value)}" if value == int(value) else f"{value:.3f}"
