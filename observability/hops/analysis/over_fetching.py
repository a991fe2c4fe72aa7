"""What over-fetching costs: bytes, the network at which they begin to matter, and the work to produce them.

The generator compares the answers of journeys that it sends alone with the fields that their screens show. The model
in `hops.analysis.travel` predicts the share of p50 that unused fields take at other networks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from hops.analysis.comparisons import CPU
from hops.analysis.distance import at_networks
from hops.analysis.either_order import Pairs
from hops.analysis.travel import costs_of, means_of, travel_of
from hops.run.documents.difference import Comparison, HopDifference
from hops.run.documents.distance import AtNetwork
from hops.run.documents.estimate import Estimate
from hops.run.documents.over_fetching import OverFetching, Saving
from hops.run.documents.summary import Summary
from hops.run.documents.topology import TopologySummary
from hops.run.files import RunFiles
from hops.run.network import LOOPBACK, NAMED, Network, networks_of
from hops.run.switches import switches_of
from hops.statistics.contrast import spread_if_independent
from hops.units import ALL

MATTERS = 0.05
"""Share of p50 from which over-fetching matters."""


def over_fetching_of(run: RunFiles, topologies: Mapping[str, TopologySummary]) -> list[OverFetching]:
    """Makes a row for each topology and each journey whose screen shows only some of what it reads."""
    samples = {topology: run.sample(topology).drop_nulls("fields") for topology in topologies}
    travel = {topology: travel_of(run, topology) for topology, sample in samples.items() if sample.height}
    if not travel:
        return []
    networks = networks_of(switches_of(run.manifest, next(iter(travel))))
    near = {
        channel: Network(rtt_ms=networks.get(channel, NAMED[LOOPBACK]).rtt_ms)
        for sample in samples.values()
        for channel in sample["channel"].unique()
    }
    places = at_networks(travel, {**NAMED, **near})
    return [
        row
        for topology, frame in travel.items()
        for row in _rows(topology, samples[topology], topologies[topology], places, means_of(frame))
    ]


def savings_of(summary: Summary, pairs: Sequence[tuple[str, str]]) -> list[Saving]:
    """Makes a row for each pair of arms and each journey that the first over-fetches more, then one for `all`."""
    compared = Pairs(summary)
    beyond = {(row["topology"], row["journey"]) for row in summary.get("over_fetching", []) if row["fields_beyond"]}
    return [
        _saving(row, compared.comparison(journey, CPU, selecting, usual))
        for usual, selecting in pairs
        for journey in (*compared.journeys(), ALL)
        if (usual, journey) in beyond or (journey == ALL and usual in {topology for topology, _ in beyond})
        if (row := compared.hops(journey, usual, selecting)) is not None
    ]


def _saving(row: HopDifference, cpu: Comparison | None) -> Saving:
    return Saving(
        journey=row["journey"],
        usual=row["left"],
        selecting=row["right"],
        mean_ms=Estimate(value=row["difference_ms"], ci95=row["ci95"]),
        parts_ms={part["part"]: Estimate(value=part["difference_ms"], ci95=part["ci95"]) for part in row["groups"]},
        cpu=cpu,
    )


def _rows(
    topology: str,
    sample: pl.DataFrame,
    figures: TopologySummary,
    places: Mapping[str, AtNetwork],
    means: Mapping[str, tuple[float, float, float]],
) -> Iterator[OverFetching]:
    for (journey, channel), part in sample.partition_by(
        "journey", "channel", as_dict=True, maintain_order=True
    ).items():
        # The sample may have journeys that the load lacks.
        if journey not in means:
            continue
        sent = _estimate(part["packed_beyond"])
        ms = {name: sent["value"] * costs_of(network)[1] for name, network in NAMED.items() if name != LOOPBACK}
        p50 = {name: place["p50_ms"][journey][topology]["value"] for name, place in places.items()}
        yield OverFetching(
            topology=topology,
            journey=journey,
            fields=_mean(part["fields"]),
            fields_beyond=_mean(part["fields_beyond"]),
            bytes_beyond=_estimate(part["bytes_beyond"]),
            sent_beyond=sent,
            sent_share=sent["value"] / figures["journeys"][journey]["bytes_in_mean"],
            ms=ms,
            p50_share={name: taken / p50[name] for name, taken in ms.items()},
            matters_below_mbit=_matters_below(sent["value"], means[journey][1], p50[channel]),
        )


def _matters_below(beyond: float, down: float, p50_ms: float) -> float | None:
    """Computes the bandwidth, Mbit/s, at which bytes that no screen shows take the share `MATTERS` of p50."""
    bits = 8 * (beyond - MATTERS * down)
    return bits / (MATTERS * p50_ms) / 1e3 if bits > 0 else None


def _mean(values: pl.Series) -> float:
    return float(values.to_numpy().mean())


def _estimate(values: pl.Series) -> Estimate:
    each = values.to_numpy().astype(np.float64)
    mean = float(each.mean())
    ends = spread_if_independent(each - mean).around(mean) if each.size > 1 else (None, None)
    return Estimate(value=mean, ci95=list(ends))
