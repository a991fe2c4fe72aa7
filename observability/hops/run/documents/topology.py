"""Figures of one topology."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from hops.run.documents.estimate import Estimate


class NetPart(TypedDict):
    """A part of a mean budget net of tracing, ms; both fields are None if its component does not report span costs."""

    tracing_ms: float | None
    net_ms: float | None


class JourneySummary(TypedDict):
    """Figures of one journey, or of `all`. Latencies are those of the journeys that ended ok.

    `bytes_*` are bodies: as they came, decompressed (`raw`), and sent. `wire_*` is everything that TCP carried for a
    journey that was sent alone; None without a sample. `net_of_tracing` has the parts of the mean budget.
    """

    count: int
    errors: dict[str, int]
    requests_per_journey: float
    waves_mean: float
    parallel_mean: float
    bytes_in_mean: float
    bytes_in_raw_mean: float
    bytes_out_mean: float
    wire_in_mean: float | None
    wire_out_mean: float | None
    latency_ms: dict[str, float | None]
    latency_ci95: dict[str, list[float | None]]
    budget_ms: dict[str, dict[str, float]]
    net_of_tracing: dict[str, NetPart]
    traced_mean_ms: float | None
    traces: int


class WireSummary(TypedDict):
    """Everything that TCP carried on the clients' connections during the replay, and before it to open them.

    `not_modified` is present if clients cached answers: the share of requests answered as not modified.
    """

    bytes_in: int
    bytes_out: int
    in_per_journey: float
    out_per_journey: float
    opening_bytes_in: int
    opening_bytes_out: int
    connections: int
    not_modified: NotRequired[float]


class EdgeCacheSummary(TypedDict):
    """What a shared cache in front of the edge answered, and what still reached the edge.

    `hit_share` is the share of the clients' requests that the cache answered, 0 to 1. `fetches` and `bytes` are per
    journey; bytes count both directions.
    """

    hit_share: Estimate
    fetches: Estimate
    bytes: Estimate


class SidecarSummary(TypedDict):
    """One direction of a component's sidecar: how often a traced journey crosses it, and its own time per crossing.

    `ms_per_crossing` is the mean over crossings on the critical path; None without any.
    """

    crossings_per_journey: float
    ms_per_crossing: float | None


class TopologySummary(TypedDict):
    """Figures of one topology over all blocks. `wire` is None if the connections were not counted.

    `cost` is in core-hours per million journeys, by group of components (`hops.analysis.cost.GROUPS`) and as `total`,
    which leaves out the load generator: it is not part of a shop. `sidecars` are by the names of their spans, such as
    `order-outbound`; empty without a mesh.
    """

    throughput_per_s: float
    errors: dict[str, int]
    cpu_ms_per_journey: dict[str, float]
    rss_mb: dict[str, float]
    cost: dict[str, Estimate]
    wire: WireSummary | None
    edge_cache: NotRequired[EdgeCacheSummary]
    sidecars: dict[str, SidecarSummary]
    journeys: dict[str, JourneySummary]
