"""The measured effect of distance, and the model compared with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypedDict, cast

from hops.run.axis import Axis
from hops.run.documents.distance import BreakEven
from hops.run.documents.estimate import Agreement, Estimate

KIND: Final = "rtt"
AXIS = Axis("ms", lambda manifest, label: manifest["arms"][label]["rtt_ms"])
"""The axis of the experiment: round-trip times."""


class JourneySlope(TypedDict):
    """How much p50 of a journey grows with the round-trip time, measured, in one topology.

    `slope` is in ms per ms, by least squares over all measured round-trip times. `ratio` is the slope divided by
    `round_trips`, the mean number that the plan needs. `reason` says why there are no intervals.
    """

    journey: str
    topology: str
    round_trips: float
    slope: Estimate
    ratio: Estimate
    reason: str | None


class PredictedPoint(TypedDict):
    """A measured p50, ms, and the model's prediction for it from the arms at the shortest round-trip time.

    `difference` is measured minus predicted, paired by block; the two agree if its interval includes 0. `reason` says
    why the verdict is `unknown`.
    """

    journey: str
    topology: str
    rtt_ms: float
    measured: Estimate
    predicted: Estimate
    difference: Estimate
    verdict: Agreement
    reason: str | None


class BreakEvenCheck(TypedDict):
    """One pair's break-even within the measured round-trip times: predicted like the points, and measured.

    `difference` is measured minus predicted, ms, with the joint interval of both; None unless both verdicts are `from`.
    The two `agree` if the interval includes 0. Without a difference, they `agree` if both show the same topology faster
    at every distance, and `differ` if they show different topologies faster at the same distance. `reason` says why
    nothing could be tested.
    """

    journey: str
    predicted: BreakEven
    measured: BreakEven
    difference: Estimate | None
    verdict: Agreement
    reason: str | None


class DistanceCheck(TypedDict):
    """The measured effect of distance, compared with the model of `hops.analysis.distance`; `rtts_ms` are ascending."""

    rtts_ms: list[float]
    topologies: list[str]
    slopes: list[JourneySlope]
    points: list[PredictedPoint]
    break_evens: list[BreakEvenCheck]


def check_of(summary: Mapping[str, object]) -> DistanceCheck:
    """Gives the part of a summary that only an experiment over distances has."""
    return cast("DistanceCheck", summary[KIND])
