"""How much faster other journeys get without a kind of journey, in `summary.json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict, cast

from hops.run.documents.estimate import Agreement, Estimate

OTHERS = "all others"
"""All kinds of journey but the one that is taken away, in the shares that they have in the load."""


class IsolationRow(TypedDict):
    """What journeys of one kind, or `OTHERS`, gain in the mean in an arm, ms.

    `journeys` counts those that ended ok in both arms, and `meetings` how many of them met the disturber.
    `measured` is their mean latency as it is minus that in the arm.
    `predicted` is what it costs the mean that a disturber is under way, from the arm as it is alone. `difference` is
    measured minus predicted, with the interval of both together; the two agree if it includes 0. Without enough
    meetings there is no prediction.
    `reason` says why the verdict is `unknown`.
    """

    arm: str
    journey: str
    journeys: int
    meetings: int
    measured: Estimate
    predicted: Estimate | None
    difference: Estimate | None
    verdict: Agreement
    reason: str | None


class Isolation(TypedDict):
    """What is gained in each arm; `disturber` is the kind of journey that is taken away."""

    disturber: str
    rows: list[IsolationRow]


def isolation_in(summary: Mapping[str, object]) -> Isolation:
    """What the summary of an isolation has beside that of every run."""
    return cast("Isolation", summary["isolation"])
