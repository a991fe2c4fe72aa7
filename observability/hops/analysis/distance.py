"""What distance between customer and edge does to each journey, predicted from measured rows (`analysis.travel`)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from hops.analysis.break_even import break_evens
from hops.analysis.travel import AT_EDGE, OWN, Medians, means_of, move_to, round_trips_of, travel_of
from hops.run.documents.distance import AtNetwork, Distance, JourneyDistance, MeasuredPoint, WireMeans
from hops.run.documents.estimate import Estimate
from hops.run.documents.topology import TopologySummary
from hops.run.files import RunFiles
from hops.run.network import LOOPBACK, NAMED, Network, networks_of
from hops.run.switches import switches_of
from hops.statistics.correction import SIGNIFICANCE, correct_tests
from hops.units import ALL

_GRID = np.arange(0.0, 201.0)
"""Round-trip times at which medians are compared, ms. A break-even between two of them is interpolated."""
_SHOWN = [*range(11), *range(15, 50, 5), *range(50, 201, 10)]
"""Round-trip times in documents and charts. They are denser near the edge, where rankings flip and curves bend."""
_DECIMALS = 3
"""Decimal places of a figure in files: to the microsecond, because files have many figures."""


def distance_of(run: RunFiles, topologies: Mapping[str, TopologySummary]) -> Distance:
    """Predicts how distance changes p50 of each journey and of the mix, in each topology and between each pair."""
    travel = {topology: travel_of(run, topology) for topology in topologies}
    networks = networks_of(switches_of(run.manifest, next(iter(topologies))))
    return over_distance(travel, topologies, networks, run.first_stage)


def over_distance(
    travel: Mapping[str, pl.DataFrame],
    topologies: Mapping[str, TopologySummary],
    networks: Mapping[str, Network],
    first: int | None = None,
) -> Distance:
    """Predicts the same as `distance_of`, for journeys whose travel is known; a missing channel had no network."""
    over_grid = Medians(travel, AT_EDGE, [Network(rtt_ms=rtt) for rtt in _GRID.tolist()], first)
    named = at_networks(travel, NAMED, first)
    means = {topology: means_of(frame) for topology, frame in travel.items()}
    round_trips = round_trips_of(means)
    pairs = break_evens(over_grid.gaps(), round_trips, _GRID)
    journeys = {}
    for journey in over_grid.journeys:
        curves = over_grid.curves(journey)
        ends = {name: curve.ends for name, curve in curves.items()}
        journeys[journey] = JourneyDistance(
            curves={name: curve.values[_SHOWN].round(_DECIMALS).tolist() for name, curve in curves.items()},
            curves_ci95={name: [[*map(_round, every[at])] for at in _SHOWN] for name, every in ends.items()},
            round_trips=round_trips.get(journey, {}),
            bytes={name: WireMeans(down=means[name][journey][1], up=means[name][journey][2]) for name in curves},
            own_ms=named[LOOPBACK]["p50_ms"][journey],
            measured={name: _measure_point(networks, travel[name], topologies[name], journey) for name in curves},
            pairs=pairs.get(journey, []),
        )
    channels = at_channels(travel, networks, first) if len(set(networks.values())) > 1 else {}
    return Distance(grid_ms=_GRID[_SHOWN].tolist(), journeys=journeys, named=named, channels=channels)


def at_networks(
    travel: Mapping[str, pl.DataFrame], networks: Mapping[str, Network], first: int | None = None
) -> dict[str, AtNetwork]:
    """Predicts p50, for each of several networks, if every customer has that network."""
    medians = Medians(travel, OWN, list(networks.values()), first)
    gaps = medians.gaps()
    curves = {
        journey: {name: (curve.values, curve.ends) for name, curve in medians.curves(journey).items()}
        for journey in medians.journeys
    }
    places = {}
    for index, (key, network) in enumerate(networks.items()):
        p50_ms = {
            journey: {
                name: Estimate(value=float(values[index]), ci95=ends[index]) for name, (values, ends) in each.items()
            }
            for journey, each in curves.items()
        }
        p_values = {pair: float(gap.p[index]) for pair, gap in gaps.items() if gap.reason is None}
        places[key] = AtNetwork(network=network.document, p50_ms=p50_ms, fastest=_fastest(p50_ms, p_values))
    return places


def at_channels(
    travel: Mapping[str, pl.DataFrame], networks: Mapping[str, Network], first: int | None = None
) -> dict[str, AtNetwork]:
    """Predicts p50 if each channel has its own network.

    Returns medians of the journeys of each channel, and under `all` of every channel with a network.
    """
    present = {channel for frame in travel.values() for channel in frame["channel"].unique()}
    networks = {channel: network for channel, network in networks.items() if channel in present}
    if not networks:
        return {}
    there = {
        topology: move_to(frame.filter(pl.col("channel").is_in(list(networks))), networks)
        for topology, frame in travel.items()
    }
    mix = at_networks(there, {ALL: NAMED[LOOPBACK]}, first)
    mix[ALL]["network"] = None
    for channel, network in networks.items():
        own = {topology: frame.filter(pl.col("channel") == channel) for topology, frame in travel.items()}
        mix |= at_networks(own, {channel: network}, first)
    return mix


def _fastest(
    p50_ms: Mapping[str, Mapping[str, Estimate]], p_values: Mapping[tuple[str, str, str], float]
) -> dict[str, list[str]]:
    """Finds each journey's fastest topology, and topologies not shown to be slower; skips journeys without a test."""
    shown = {pair for pair, result in correct_tests(p_values).items() if result.p < SIGNIFICANCE}
    fastest = {}
    for journey, figures in p50_ms.items():
        if len(figures) < 2:
            continue
        lowest, *others = sorted(figures, key=lambda name: figures[name]["value"])
        tests = {name: {(journey, lowest, name), (journey, name, lowest)} for name in others}
        if all(either & p_values.keys() for either in tests.values()):
            fastest[journey] = [lowest, *(name for name, either in tests.items() if not either & shown)]
    return fastest


def _measure_point(
    networks: Mapping[str, Network], travel: pl.DataFrame, topology: TopologySummary, journey: str
) -> list[MeasuredPoint]:
    """Returns the measured point of the run, if all customers who send the journey are at the same distance."""
    rows = travel if journey == ALL else travel.filter(pl.col("journey") == journey)
    distances = {networks.get(channel, NAMED[LOOPBACK]).rtt_ms for channel in rows["channel"].unique()}
    figures = topology["journeys"][journey]
    value = figures["latency_ms"]["p50"]
    if value is None or len(distances) != 1:
        return []
    return [MeasuredPoint(value=value, ci95=figures["latency_ci95"]["p50"], rtt_ms=distances.pop())]


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, _DECIMALS)
