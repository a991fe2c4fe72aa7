"""Each journey's latency as a linear function of the network between customer and edge, and medians of latencies.

    latency = own time + round trips x round-trip time + bytes down / bandwidth down + bytes up / bandwidth up

The own time is a measured latency minus the time that the run's network took. Round trips come from the row. Bytes are
what the generator's sample counted on the wire for this kind of journey; without a sample, the bytes of the row's
bodies. Headers of the segments that carry these bytes are added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations

import numpy as np
import polars as pl

from hops.run.files import RunFiles
from hops.run.network import LOOPBACK, NAMED, Network, networks_of
from hops.run.switches import switches_of
from hops.statistics.curve_crossings import Curve, Gap, Lines, curve_of, gap_between
from hops.statistics.intervals import Floats
from hops.units import ALL, NS_PER_MS

COSTS = ("round_trips", "down", "up")
"""What a network costs a journey: columns of `travel_of`."""
AT_EDGE, OWN = "at_edge_ms", "own_ms"
"""Intercepts of the lines, columns of `travel_of`: at the edge, with the run's bandwidth or unlimited bandwidth."""

_KIND = ("journey", "channel")
SEGMENT, SEGMENT_HEADERS = 1460, 40
"""Bytes of payload in a full TCP segment, and of its headers (IPv4 and TCP), as on the emulated link."""
_SIDES = {"down": ("wire_in", "bytes_in"), "up": ("wire_out", "bytes_out")}


def travel_of(run: RunFiles, topology: str) -> pl.DataFrame:
    """Lists one topology's journeys that ended ok: `block`, `journey`, `channel`, `at_edge_ms`, `own_ms`, `COSTS`."""
    ok = run.journeys.filter((pl.col("topology") == topology) & (pl.col("outcome") == "ok"))
    sample = run.sample(topology).group_by(_KIND).agg(pl.col(wire).mean() for wire, _ in _SIDES.values())
    rows = ok.join(sample, on=_KIND, how="left", maintain_order="left").with_columns(
        (pl.col("waves") + pl.col("opening_round_trips")).cast(pl.Float64).alias("round_trips"),
        *(_in_segments(pl.coalesce(wire, body).cast(pl.Float64)).alias(side) for side, (wire, body) in _SIDES.items()),
    )
    trips, bits = _taken_ms(networks_of(switches_of(run.manifest, topology)))
    at_edge = pl.col("latency_ns") / NS_PER_MS - trips
    return rows.select("block", *_KIND, at_edge.alias(AT_EDGE), (at_edge - bits).alias(OWN), *COSTS)


def _in_segments(payload: pl.Expr) -> pl.Expr:
    """Adds the headers to bytes that are sent as several equal messages, one for each request of the journey."""
    segments = (payload / pl.col("requests") / SEGMENT).ceil().clip(1) * pl.col("requests")
    return payload + segments * SEGMENT_HEADERS


def means_of(travel: pl.DataFrame) -> dict[str, tuple[float, float, float]]:
    """Computes mean round trips, bytes down and bytes up of each journey and of `all`."""
    journeys = travel.group_by("journey").agg(pl.col(COSTS).mean())
    if travel.is_empty():
        return {}
    everything = travel.select(pl.lit(ALL).alias("journey"), *(pl.col(name).mean() for name in COSTS))
    return {journey: (trips, down, up) for journey, trips, down, up in (*journeys.rows(), *everything.rows())}


def round_trips_of(means: Mapping[str, Mapping[str, tuple[float, float, float]]]) -> dict[str, dict[str, float]]:
    """Groups mean round trips, as returned by `means_of`, by journey and topology."""
    trips: dict[str, dict[str, float]] = {}
    for topology, each in means.items():
        for journey, (mean, _, _) in each.items():
            trips.setdefault(journey, {})[topology] = mean
    return trips


def move_to(travel: pl.DataFrame, networks: Mapping[str, Network]) -> pl.DataFrame:
    """Recomputes `own_ms` as the latency of the same journeys if each channel had its network from `networks`."""
    trips, bits = _taken_ms(networks)
    return travel.with_columns((pl.col(OWN) + trips + bits).alias(OWN))


def _taken_ms(networks: Mapping[str, Network]) -> tuple[pl.Expr, pl.Expr]:
    """Computes how many ms the network of its channel adds to a journey: for round trips, and for bytes."""
    costs = {channel: costs_of(network) for channel, network in networks.items()}

    def by_channel(index: int) -> pl.Expr:
        each = {channel: cost[index] for channel, cost in costs.items()}
        return pl.col("channel").replace_strict(each, default=0.0, return_dtype=pl.Float64)

    trips, down, up = (pl.col(name) * by_channel(index) for index, name in enumerate(COSTS))
    return trips, down + up


def costs_of(network: Network) -> tuple[float, float, float]:
    """Computes what a round trip, a byte down and a byte up cost, ms."""
    down, up = (0.0 if mbit is None else 8 / mbit / 1e3 for mbit in (network.down_mbit, network.up_mbit))
    return network.rtt_ms, down, up


class Medians:
    """Medians of several topologies' journeys at each of several networks.

    Args:
        travel: Journeys as returned by `travel_of`, by topology in the user's order.
        networks: The networks. With `AT_EDGE`, which includes the run's bandwidth, only their round-trip times count.
    """

    def __init__(
        self,
        travel: Mapping[str, pl.DataFrame],
        start: str = OWN,
        networks: Sequence[Network] = (NAMED[LOOPBACK],),
        first: int | None = None,
    ) -> None:
        self._lines = {topology: _lines(frame, start) for topology, frame in travel.items()}
        self._points: Floats = np.array([costs_of(network) for network in networks]).T
        self._first = first
        self._known: dict[tuple[str, str, tuple[int, ...]], Curve | None] = {}

    @cached_property
    def journeys(self) -> list[str]:
        """`all`, then the journeys of all topologies by name."""
        return [ALL, *sorted({name for lines in self._lines.values() for name, _ in lines} - {ALL})]

    def curves(self, journey: str) -> dict[str, Curve]:
        """Computes a journey's median curves, by topology; topologies without the journey are left out."""
        curves = {name: self._curve(name, journey, self._blocks(name)) for name in self._lines}
        return {name: curve for name, curve in curves.items() if curve is not None}

    def gaps(self) -> dict[tuple[str, str, str], Gap]:
        """Computes the gap of each pair of topologies over their common blocks, by journey, left and right."""
        gaps = {}
        for left, right in combinations(self._lines, 2):
            blocks = tuple(block for block in self._blocks(left) if block in self._blocks(right))
            for journey in self.journeys:
                ours, theirs = (self._curve(name, journey, blocks) for name in (left, right))
                if ours is not None and theirs is not None:
                    gaps[journey, left, right] = gap_between(ours, theirs)
        return gaps

    def _blocks(self, topology: str) -> tuple[int, ...]:
        return tuple(sorted(block for journey, block in self._lines[topology] if journey == ALL))

    def _curve(self, topology: str, journey: str, blocks: tuple[int, ...]) -> Curve | None:
        key = (topology, journey, blocks)
        if key not in self._known:
            none = Lines(np.empty(0), np.empty((0, len(COSTS))))
            rows = [self._lines[topology].get((journey, block), none) for block in blocks]
            self._known[key] = curve_of(rows, self._points, self._first)
        return self._known[key]


def _lines(travel: pl.DataFrame, start: str) -> dict[tuple[str, int], Lines]:
    """Groups rows into lines by journey and block; all journeys together are `all`."""
    everything = travel.with_columns(pl.lit(ALL).alias("journey"))
    return {
        (str(journey), int(block)): Lines(rows[start].to_numpy(), rows.select(COSTS).to_numpy())
        for frame in (everything, travel)
        for (journey, block), rows in frame.partition_by("journey", "block", as_dict=True).items()
    }
