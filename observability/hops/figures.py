"""The shape of `summary.json`: what programs can rely on."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from hops.gates import Gate, LeftOut

SCHEMA = 1

#: Who says when a journey starts: the tape, or virtual users, each once it has its last answer.
Mode = Literal["open", "closed"]


class JourneySummary(TypedDict):
    """Figures of one journey, or of `all`. Latencies are those of the journeys that ended ok.

    `bytes_*` are bodies: as they came, decompressed (`raw`), and sent. `wire_*` is all that TCP carried for a journey
    that was sent alone, None where no sample has it.
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
    traced_mean_ms: float | None
    traces: int


class WireSummary(TypedDict):
    """All that TCP carried on the clients' connections during the replay, and before it to open them."""

    bytes_in: int
    bytes_out: int
    in_per_journey: float
    out_per_journey: float
    opening_bytes_in: int
    opening_bytes_out: int
    connections: int


class TopologySummary(TypedDict):
    """Figures of one topology. `wire` is None where the connections were not counted."""

    throughput_per_s: float
    errors: dict[str, int]
    cpu_ms_per_journey: dict[str, float]
    rss_mb: dict[str, float]
    wire: WireSummary | None
    journeys: dict[str, JourneySummary]


class ObserverEffect(TypedDict):
    """What tracing adds to the median latency, ms; None if there is too little of either kind."""

    p50: float | None
    ci95: list[float | None]


class ClosedLoop(TypedDict):
    """What drove a closed loop."""

    vus: int
    think_s: float


class Summary(TypedDict):
    """The whole file. `closed` is None in an open loop."""

    schema: int
    name: str
    mode: Mode
    closed: ClosedLoop | None
    valid: bool
    gates: list[Gate]
    gates_left_out: list[LeftOut]
    tape: dict[str, Any]
    switches: dict[str, Any]
    topologies: dict[str, TopologySummary]
    observer_effect_ms: ObserverEffect
    comparisons: list[dict[str, Any]]
