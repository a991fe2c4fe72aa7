"""What each step of a ladder adds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict, cast

from hops.run.documents.estimate import Agreement, Estimate


class GroupChange(Estimate):
    """Change of the parts of one group (`hops.budget.groups.GROUPS`) in a step, ms."""

    group: str


class LadderRow(TypedDict):
    """One step of a ladder in one journey or `all`, ms: the upper arm minus the lower, by two measurements.

    `measured` is the difference between the mean latencies over untraced journeys; `journeys` counts these in the lower
    and the upper arm. `attributed` is the difference between the parts that belong to the step, over the `traces`.
    `remainder` is measured minus attributed, with their joint interval, paired by block. `elsewhere` is the change of
    the parts that do not belong to the step, and `groups` the same by group.

    In steps that add or change tracing, `measured` is over all journeys. `attributed` is the share of traced journeys
    times what being traced adds to a journey, in the upper arm minus the same in the lower arm. `traces` counts the
    upper arm's journeys without and with a trace, and `elsewhere` is 0. `reason` says why the verdict is `unknown`.
    """

    journey: str
    journeys: list[int]
    traces: list[int]
    measured: Estimate
    attributed: Estimate
    remainder: Estimate
    elsewhere: Estimate
    groups: list[GroupChange]
    verdict: Agreement
    reason: str | None


class LadderStep(TypedDict):
    """One step: `adds` is the addition, in words; `lower` lacks it and `upper` has it. The first row is for `all`."""

    adds: str
    lower: str
    upper: str
    rows: list[LadderRow]


class Added(TypedDict):
    """An addition to a figure, in ms; if there is no interval, `reason` says why."""

    value: float | None
    ci95: list[float | None]
    reason: str | None


class SidecarPair(TypedDict):
    """What two sidecars add to a call, by traces: the time between its two spans, minus the same without sidecars.

    `link` is `<caller>→<callee>`, or `all`. `calls` counts the calls without and with sidecars.
    """

    arm: str
    link: str
    calls: list[int]
    mean: Added
    p99: Added


class Ladder(TypedDict):
    """What each step of a ladder adds, measured twice, and what a pair of sidecars adds to a call."""

    steps: list[LadderStep]
    sidecar_pairs: list[SidecarPair]


def ladder_of(summary: Mapping[str, object]) -> Ladder:
    """Gives the part of a summary that only a ladder has."""
    return cast("Ladder", summary["ladder"])
