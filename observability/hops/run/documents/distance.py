"""What distance between the customer and the edge does to latencies, according to the model."""

from __future__ import annotations

from typing import Literal, TypedDict

from hops.run.documents.estimate import Estimate
from hops.run.documents.network import ChannelNetwork

Turning = Literal["from", "up_to", "beyond", "always", "never", "several", "not_shown", "unknown"]
"""Where one topology answers faster: `from` a distance on, `up_to` or `beyond` a distance, at every distance (`always`
or `never`, see `BreakEven`), or in `several` ranges."""


class Stretch(TypedDict):
    """Round-trip times, ms, over which one topology is shown to answer faster."""

    sooner: str
    from_ms: float
    to_ms: float


class BreakEven(TypedDict):
    """Which of two topologies answers a journey, or `all`, faster at p50, by round-trip time.

    `left` has fewer round trips; if both have equally many, `left` is the first in the user's order. `sooner` is the
    topology of the verdict:

    - `from`: it is faster from `at_ms` on, and the other topology is faster at shorter distances;
    - `up_to`: it is faster near the edge; beyond the beginning of `ci95_ms`, nothing is shown;
    - `beyond`: it is faster from the end of `ci95_ms` on; at shorter distances, nothing is shown;
    - `always`: it is faster at both ends of the range, and the other topology is nowhere shown to be faster;
    - `never`: the same as `always`, but for the right topology; so the left topology is never faster, although every
      millisecond of distance helps it.

    `at_ms` is the estimate: None if the medians have the same order at both ends of the range. `ci95_ms` contains the
    round-trip times around it at which no topology is shown to be faster. An end is None if they reach the end of the
    range. Only `from` and `several` say that the ranking flips.

    `stretches` are the distances at which a topology is shown to be faster, nearest first. At the nearest and the
    farthest distance, they have passed the correction over all pairs and journeys, with `p_corrected`. `unknown` has a
    `reason`.
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
    """A measured p50, ms, at the run's round-trip time."""

    rtt_ms: float


class WireMeans(TypedDict):
    """Mean bytes of a journey to and from the customer: on the wire if a sample has them, else bodies.

    The headers of TCP segments are included.
    """

    down: float
    up: float


class JourneyDistance(TypedDict):
    """One journey, or `all`, over the distance between customer and edge; all fields by topology, p50 in ms.

    `curves` are at each of `Distance.grid_ms`, at the bandwidth of the run. `own_ms` is without distance and with
    unlimited bandwidth. `measured` is at the run's own network, unless its channels had different networks.
    """

    curves: dict[str, list[float]]
    curves_ci95: dict[str, list[list[float | None]]]
    round_trips: dict[str, float]
    bytes: dict[str, WireMeans]
    own_ms: dict[str, Estimate]
    measured: dict[str, list[MeasuredPoint]]
    pairs: list[BreakEven]


class AtNetwork(TypedDict):
    """Predicted p50, ms, at one network, by journey (including `all`) and topology.

    `network` is None if channels differ. `fastest` has the fastest topology of each journey and all topologies not
    shown to be slower. A topology that is alone there is shown to be the fastest. A journey that could not be tested is
    missing.
    """

    network: ChannelNetwork | None
    p50_ms: dict[str, dict[str, Estimate]]
    fastest: dict[str, list[str]]


class Distance(TypedDict):
    """What distance between customer and edge does to p50, according to the model of `hops.analysis.distance`.

    `named` is by the networks of `hops.run.network.NAMED`. `channels` has the journeys of each channel, at the
    channel's network in the workload, and under `all` every journey at its channel's network. It is empty if all
    channels have the same network or no network.
    """

    grid_ms: list[float]
    journeys: dict[str, JourneyDistance]
    named: dict[str, AtNetwork]
    channels: dict[str, AtNetwork]
