"""What tracing adds to the latencies that it explains."""

from __future__ import annotations

from typing import TypedDict


class TracingRecord(TypedDict):
    """The spans of a trial, and the cost of each for the thread that made it, as reported by its component.

    `spans` has the mean number of spans in a journey's traces, by journey, component and kind. `cost_ns` is by
    component and kind, and lacks components that do not report it, such as the edge.
    """

    spans: dict[str, dict[str, dict[str, float]]]
    cost_ns: dict[str, dict[str, float]]


class ObservedPlace(TypedDict):
    """What tracing adds to the median time of a journey in one place, ms.

    `place` is `client` (the client and the wire to the edge), `edge`, `behind` (everything behind the edge), or `all`.
    `spans` is the mean number of spans that a traced journey leaves there. `spans_ms` is their cost as reported by the
    components; null if a component does not report it.
    """

    place: str
    p50: float | None
    ci95: list[float | None]
    spans: float | None
    spans_ms: float | None


class SpanCost(TypedDict):
    """A component's mean number of spans in a traced journey; `ms` is their cost to it, null if it reports no cost."""

    component: str
    spans: float
    ms: float | None


class ObservedTopology(TypedDict):
    """What tracing adds to the median latency of one topology, ms, and where.

    `share` is this addition as a share of the untraced median. `journeys` counts the journeys whose time the edge's log
    splits, because they send one request at a time. `places` and `components` count only these.
    """

    p50: float | None
    ci95: list[float | None]
    share: float | None
    share_ci95: list[float | None]
    journeys: list[str]
    places: list[ObservedPlace]
    components: list[SpanCost]


class ObserverEffect(TypedDict):
    """What tracing adds to the median latency, ms; None with too few journeys, traced or untraced."""

    p50: float | None
    ci95: list[float | None]
    topologies: dict[str, ObservedTopology]
