"""Checks of a run, and what they conclude of its trials."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, TypedDict

Failing: TypeAlias = Literal["NOISY", "WRONG"]
"""What a run is if a gate fails."""
Verdict: TypeAlias = Literal["VALID"] | Failing
"""Whether figures can be trusted.

`VALID`: every gate holds. `NOISY`: only gates about the machine and the generator's timing fail; answers, traces and
budgets are right, but latencies may be too high. `WRONG`: another gate fails.
"""
VALID: Final = "VALID"
NOISY: Final = "NOISY"
WRONG: Final = "WRONG"


class Gate(TypedDict):
    """One check: its value, the limit that it is held to, and whether it holds. A value not measured is None."""

    name: str
    value: float | None
    limit: float
    ok: bool


class Gated(TypedDict):
    """Whatever has gates of its own."""

    gates: list[Gate]


class LeftOut(TypedDict):
    """A check that says nothing about this run, and why."""

    name: str
    reason: str


class SummaryGate(Gate):
    """A gate in `summary.json`: VALID if it holds, and otherwise the verdict on a run in which it fails."""

    verdict: Verdict


class TrialVerdict(TypedDict):
    """Whether a trial or block may be trusted; `reasons` are the names of the gates that failed.

    `machine_speed` is that of the trial, as a share of the fastest used trial's; None for a block or if not known.
    """

    block: int
    topology: str | None
    attempt: int | None
    used: bool
    verdict: Verdict
    reasons: list[str]
    machine_speed: float | None
