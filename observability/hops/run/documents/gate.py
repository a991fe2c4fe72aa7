"""Gates of a run, and their verdicts on its trials."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, TypedDict

Failing: TypeAlias = Literal["NOISY", "WRONG"]
"""The verdict on a run if a gate fails."""
Verdict: TypeAlias = Literal["VALID"] | Failing
"""Whether figures can be trusted.

`VALID`: every gate passes. `NOISY`: only gates about the machine and the generator's timing fail; answers, traces and
budgets are right, but latencies may be too high. `WRONG`: another gate fails.
"""
VALID: Final = "VALID"
NOISY: Final = "NOISY"
WRONG: Final = "WRONG"


class Gate(TypedDict):
    """One gate: its value, its limit, and whether it passes. A value that was not measured is None."""

    name: str
    value: float | None
    limit: float
    ok: bool


class Gated(TypedDict):
    """A trial, a block or a part of a run that has gates."""

    gates: list[Gate]


class LeftOut(TypedDict):
    """A gate that does not apply to this run, and why."""

    name: str
    reason: str


class SummaryGate(Gate):
    """A gate in `summary.json`: VALID if it passes, and otherwise the verdict on a run in which it fails."""

    verdict: Verdict


class TrialVerdict(TypedDict):
    """Whether a trial or block can be trusted; `reasons` are the names of the gates that failed.

    `machine_speed` is the trial's speed as a share of that in the arm's fastest used trial; None for a block, or if
    unknown.
    """

    block: int
    topology: str | None
    attempt: int | None
    used: bool
    verdict: Verdict
    reasons: list[str]
    machine_speed: float | None
