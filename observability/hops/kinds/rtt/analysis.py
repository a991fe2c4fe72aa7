"""The measured effect of distance on p50, and the model of distance compared with it.

Three questions, answered with intervals over blocks (`hops.statistics.over_blocks`):

**Does p50 grow with the round trips?** The slope of p50 over the round-trip time, by least squares, is divided by the
round trips that the journey needs. Only single journeys have such a slope: the journeys of a mix need different numbers
of round trips, so the p50 of the mix does not grow with their mean.

**Does the model predict what was measured?** The model gets only the arms at the shortest round-trip time, and predicts
p50 of the other arms. A block's common effect on measured and predicted cancels in their difference.

**Does it predict where the ranking flips?** See `hops.kinds.rtt.break_even`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from hops.analysis.break_even import measured_curve
from hops.analysis.distance import over_distance
from hops.analysis.latencies import Latencies, intersect_blocks
from hops.analysis.travel import AT_EDGE, Medians, means_of, round_trips_of, travel_of
from hops.kinds.rtt.break_even import break_even_checks
from hops.kinds.rtt.document import AXIS, DistanceCheck, JourneySlope, PredictedPoint
from hops.run.axis import by_topology
from hops.run.documents.distance import Distance, MeasuredPoint
from hops.run.documents.estimate import Estimate, agreement
from hops.run.documents.topology import TopologySummary
from hops.run.files import RunFiles
from hops.run.network import Network
from hops.statistics.curve_crossings import Curve
from hops.statistics.intervals import Floats, Interval
from hops.statistics.over_blocks import NO_INTERVAL, spread_of
from hops.units import ALL


@dataclass(frozen=True, slots=True)
class AtDistances:
    """One topology at each of the measured distances.

    Args:
        labels: Labels of the topology's arms, the nearest first.
        nearest: Journeys of the nearest arm, as returned by `analysis.travel`.
        latencies: Latencies of each arm, in the order of the labels.
    """

    labels: Sequence[str]
    nearest: pl.DataFrame
    latencies: Sequence[Latencies]


def distance_check(rtts_ms: Sequence[float], topologies: Mapping[str, AtDistances]) -> DistanceCheck:
    """Compares the model with an experiment at two or more ascending distances; topologies in the user's order."""
    times_ms = np.array(rtts_ms)
    blocks = intersect_blocks(arm for one in topologies.values() for arm in one.latencies)
    travel = {name: one.nearest.filter(pl.col("block").is_in(blocks)) for name, one in topologies.items()}
    medians = Medians(travel, AT_EDGE, [Network(rtt_ms=time_ms) for time_ms in rtts_ms])
    round_trips = round_trips_of({name: means_of(frame) for name, frame in travel.items()})
    slopes, points, measured = [], [], {}
    for journey in medians.journeys:
        for name, predicted in medians.curves(journey).items():
            curve = measured_curve(topologies[name].latencies, journey, blocks)
            if curve is None:
                continue
            measured[journey, name] = curve
            points += predicted_points(journey, name, times_ms, curve, predicted)
            if journey != ALL:
                slopes.append(journey_slope(journey, name, round_trips[journey][name], times_ms, curve))
    return DistanceCheck(
        rtts_ms=list(rtts_ms),
        topologies=list(topologies),
        slopes=slopes,
        points=points,
        break_evens=break_even_checks(times_ms, travel, measured, round_trips),
    )


def at_distances(run: RunFiles, latencies: Mapping[str, Latencies]) -> tuple[list[float], dict[str, AtDistances]]:
    """Gives the measured round-trip times, ascending, and each topology's measurements at them."""
    arms = AXIS.arms(run.manifest)
    return sorted({arm.at for arm in arms}), {
        topology: AtDistances(
            [arm.label for arm in side], travel_of(run, side[0].label), [latencies[arm.label] for arm in side]
        )
        for topology, side in by_topology(sorted(arms, key=lambda arm: arm.at)).items()
    }


def measured_distance(
    rtts_ms: Sequence[float], topologies: Mapping[str, AtDistances], figures: Mapping[str, TopologySummary]
) -> Distance:
    """Computes the model's predictions from the nearest arms, and the measured points of all arms."""
    nearest = {name: figures[one.labels[0]] for name, one in topologies.items()}
    distance = over_distance({name: one.nearest for name, one in topologies.items()}, nearest, {})
    for journey, row in distance["journeys"].items():
        for name in row["measured"]:
            cells = [figures[label]["journeys"].get(journey) for label in topologies[name].labels]
            row["measured"][name] = [
                MeasuredPoint(value=value, ci95=cell["latency_ci95"]["p50"], rtt_ms=rtt_ms)
                for rtt_ms, cell in zip(rtts_ms, cells, strict=True)
                if cell is not None and (value := cell["latency_ms"]["p50"]) is not None
            ]
    return distance


def journey_slope(journey: str, topology: str, round_trips: float, rtts_ms: Floats, curve: Curve) -> JourneySlope:
    """Computes how much the measured p50 of a journey grows with the round-trip time.

    Args:
        round_trips: Mean number of round trips in the journey's plan.
        rtts_ms: Measured round-trip times, at least two.
        curve: p50 at each of them, ms.
    """
    centred = rtts_ms - rtts_ms.mean()
    weights = centred / (centred**2).sum()
    value = float(curve.values @ weights)
    ends = NO_INTERVAL if curve.by_block is None else spread_of(curve.by_block @ weights - value).around(value)
    return JourneySlope(
        journey=journey,
        topology=topology,
        round_trips=round_trips,
        slope=Estimate(value=value, ci95=list(ends)),
        ratio=Estimate(value=value / round_trips, ci95=[None if end is None else end / round_trips for end in ends]),
        reason=curve.reason,
    )


def predicted_points(
    journey: str, topology: str, rtts_ms: Floats, measured: Curve, predicted: Curve
) -> list[PredictedPoint]:
    """Compares each measured p50, ms, with its prediction of the same blocks.

    The nearest distance is left out, since predictions come from it.
    """
    differences = measured.values - predicted.values
    reason = measured.reason or predicted.reason
    ends: list[Interval] = [NO_INTERVAL] * len(differences)
    if measured.by_block is not None and predicted.by_block is not None:
        deviations = measured.by_block - predicted.by_block - differences
        ends = [spread_of(of_point).around(value) for of_point, value in zip(deviations.T, differences, strict=True)]
    return [
        PredictedPoint(
            journey=journey,
            topology=topology,
            rtt_ms=float(rtts_ms[at]),
            measured=Estimate(value=float(measured.values[at]), ci95=measured.ends[at]),
            predicted=Estimate(value=float(predicted.values[at]), ci95=predicted.ends[at]),
            difference=Estimate(value=float(differences[at]), ci95=list(ends[at])),
            verdict=agreement(ends[at]),
            reason=reason,
        )
        for at in range(1, len(rtts_ms))
    ]
