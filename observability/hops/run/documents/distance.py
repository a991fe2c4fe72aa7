"""What distance between the customer and the edge does to latencies, by the model."""

from __future__ import annotations

from typing import Literal, TypedDict

from hops.run.documents.estimate import Estimate
from hops.run.documents.network import ChannelNetwork

Turning = Literal["from", "up_to", "beyond", "always", "never", "several", "not_shown", "unknown"]
"""Whether one topology answers faster: `from` a distance on, `up_to` or `beyond` one, at every distance (`always` or
`never`, see `BreakEven`), or by turns (`several`)."""


class Stretch(TypedDict):
    """Round-trip times, ms, over which one topology is shown to answer faster."""

    sooner: str
    from_ms: float
    to_ms: float


class BreakEven(TypedDict):
    """Which of two topologies answers one journey, or `all`, faster at p50, by the round-trip time.

    `left` is the one with fewer round trips; of equal ones, the first by the user's order. `sooner` names the one that
    the verdict is about. `from`: it is faster from `at_ms` on, and the other one is faster nearer. `up_to`: it is
    faster near the edge, and beyond the beginning of `ci95_ms` nothing is shown; `beyond`: it is faster from the end of
    `ci95_ms` on, and nearer nothing is shown. `always`: it is faster at both ends of the range, and the other one is
    nowhere shown to be; `never`: so it is, and it is the right one, so that the left one never is faster although every
    millisecond of distance helps it.

    `at_ms` is the estimate: None where the medians have the same order at both ends of the range. `ci95_ms`
    holds the round-trip times around it at which neither is shown to be faster. An end is None where they reach the end
    of the range. Only `from` and `several` say that the order turns.

    `stretches` are the distances at which one of them is shown to be faster, nearest first. What they say of the
    nearest and of the farthest distance has passed the correction over all pairs and journeys, with `p_corrected`.
    `unknown` has a `reason`.
    """

    left: str
    right: str
    verdict: Turning
    sooner: str | None
    at_ms: float | None
    ci95_ms: list[float | None]
    stretches: list[Stretch]
    p_corrected: list[float | None]
    reason: str | None


class MeasuredPoint(Estimate):
    """A measured p50, ms, at the round-trip time that the run had."""

    rtt_ms: float


class WireMeans(TypedDict):
    """Mean bytes of a journey towards the customer and from there, on the wire where a sample has them, else bodies.

    The headers of TCP segments are counted.
    """

    down: float
    up: float


class JourneyDistance(TypedDict):
    """One journey, or `all`, over the distance between customer and edge; all by topology, p50 in ms.

    `curves` are at each of `Distance.grid_ms`, at the bandwidth of the run. `own_ms` is without distance and with
    unlimited bandwidth. `measured` has the run's own network, unless its channels had different ones.
    """

    curves: dict[str, list[float]]
    curves_ci95: dict[str, list[list[float | None]]]
    round_trips: dict[str, float]
    bytes: dict[str, WireMeans]
    own_ms: dict[str, Estimate]
    measured: dict[str, list[MeasuredPoint]]
    pairs: list[BreakEven]


class AtNetwork(TypedDict):
    """Predicted p50, ms, at one network, by journey (`all` among them) and topology.

    `network` is None where channels differ. `fastest` holds the lowest topology of each journey and those not shown to
    be above it, so that one name alone is shown to be the fastest; a journey that could not be tested is not in it.
    """

    network: ChannelNetwork | None
    p50_ms: dict[str, dict[str, Estimate]]
    fastest: dict[str, list[str]]


class Distance(TypedDict):
    """What distance between customer and edge does to p50, by the model of `hops.analysis.distance`.

    `named` is by the networks of `hops.run.network.NAMED`. `channels` has each channel's journeys at the
    network that the workload gives this channel, and as `all` every journey at its channel's; empty where all have
    the same one or none.
    """

    grid_ms: list[float]
    journeys: dict[str, JourneyDistance]
    named: dict[str, AtNetwork]
    channels: dict[str, AtNetwork]
