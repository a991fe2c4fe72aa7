"""How much faster other journeys are without one kind of journey, in `summary.json`, and the arms of the experiment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypedDict, cast

from hops.run.documents.estimate import Agreement, Estimate

KIND: Final = "isolate"
AS_IS: Final = "as-is"
WITHOUT, APART = "without", "apart"
OTHERS = "all others"
"""All kinds of journey except the disturber, in their shares of the load."""


class IsolationRow(TypedDict):
    """Mean gain of journeys of one kind, or `OTHERS`, in an arm, ms.

    `journeys` counts the journeys that ended ok in both arms, and `meetings` how many of these met the disturber.
    `measured` is their mean latency in the arm `as-is` minus that in this arm. `predicted` is what disturbers in flight
    add to the mean, from the arm `as-is` alone. `difference` is measured minus predicted, with the joint interval;
    the two agree if it includes 0. Without enough meetings there is no prediction. `reason` says why the verdict is
    `unknown`.
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
    """Gains of each arm; `disturber` is the kind of journey that is removed or separated."""

    disturber: str
    rows: list[IsolationRow]


def isolation_in(summary: Mapping[str, object]) -> Isolation:
    """Gives the part of a summary that only an isolation experiment has."""
    return cast("Isolation", summary["isolation"])


def label_of(way: str, disturber: str) -> str:
    """Returns the label of the arm in which a kind of journey cannot disturb the others: `without-bulk_lines`."""
    return f"{way}-{disturber}"


def disturber_of(arms: Iterable[str]) -> str:
    """Gives the kind of journey that the arms of an isolation experiment remove or separate."""
    return next(arm for arm in arms if arm != AS_IS).partition("-")[2]


def in_words(arm: str) -> str:
    """Describes an arm in words for use within a sentence: `without bulk_lines`, `bulk_lines apart`."""
    way, _, disturber = arm.partition("-")
    return f"{disturber} apart" if way == APART else f"{way} {disturber}"
