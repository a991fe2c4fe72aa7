"""Checks of a run, and what they conclude of its trials."""

from __future__ import annotations

from typing import TypedDict


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


class Verdict(TypedDict):
    """Whether a trial or block may be trusted; `reasons` are the names of the gates that failed.

    `machine_speed` is that of the trial, as a share of the fastest used trial's; None for a block or if not known.
    """

    block: int
    topology: str | None
    attempt: int | None
    used: bool
    valid: bool
    reasons: list[str]
    machine_speed: float | None
