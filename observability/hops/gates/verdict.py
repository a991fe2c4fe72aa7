"""Turns gates into a verdict: VALID, NOISY or WRONG, according to `fails` in the table of gates."""

from __future__ import annotations

from collections.abc import Iterable

from hops.gates.limits import kind_of
from hops.run.documents.gate import NOISY, VALID, WRONG, Gate, SummaryGate, Verdict

_FROM_GOOD_TO_BAD: tuple[Verdict, ...] = (VALID, NOISY, WRONG)
MEANING = {
    VALID: "every gate holds",
    NOISY: "answers and budgets are right, but latencies may be too high, and small differences may be chance",
    WRONG: "do not rely on these figures",
}
"""Meaning of each verdict for the figures."""


def failing_gates(gates: Iterable[Gate]) -> list[str]:
    """Lists the names of the gates that failed."""
    return [gate["name"] for gate in gates if not gate["ok"]]


def verdict_of(gates: Iterable[Gate]) -> Verdict:
    """Gives the verdict on a trial or a run with these gates."""
    return verdict_of_failed(failing_gates(gates))


def verdict_of_failed(names: Iterable[str]) -> Verdict:
    """Gives the verdict on a trial or a run in which these gates fail."""
    return worst_verdict(kind_of(name).fails for name in names)


def worst_verdict(verdicts: Iterable[Verdict]) -> Verdict:
    """Returns the worst of these verdicts; VALID if there are none."""
    return max(verdicts, key=_FROM_GOOD_TO_BAD.index, default=VALID)


def with_verdicts(gates: Iterable[Gate]) -> list[SummaryGate]:
    """Adds to each gate of a summary its verdict."""
    return [SummaryGate(**gate, verdict=verdict_of([gate])) for gate in gates]
