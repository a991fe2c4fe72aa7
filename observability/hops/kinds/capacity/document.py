"""What a run over the capacity of topologies asked, measured and found, beside what every run has."""

# Annotations are evaluated here, so that older summaries, which lack what is not required, can be read.
from collections.abc import Mapping
from typing import Final, Literal, NotRequired, TypedDict, cast

from hops.kinds.capacity.search import Limit
from hops.run.documents.estimate import Estimate

KIND: Final = "capacity"
Load = Literal["sweep", "stress", "overload"]
Phase = Literal["search", "confirm", "users", "peak"]
STAIRS = (0.5, 0.0, 0.0, 0.5, 0.5)
"""The rate in each equal part of an overload, in units of what the topology holds; 0 for the peak's."""
PEAK_BEGINS, PEAK_PARTS = 1, 2


class SearchBounds(TypedDict):
    """The bounds of a search, as `hops.kinds.capacity.search.Bounds`."""

    start: float
    highest: float
    lowest: float
    precision: float
    max_steps: int
    max_confirmations: int


class Asked(TypedDict):
    """What the user asked for.

    `given` is what topologies hold by the user's word, in journeys a second. `connections` are those of all clients, 0
    for as many as the users need. A stress test searches for nothing: it has neither bounds nor an objective. `blocks`
    says how often each search is repeated; older runs lack it.
    """

    load: Load
    objective_ms: float | None
    search: SearchBounds | None
    users: list[int]
    think_s: float
    connections: int
    factors: list[int]
    given: dict[str, float]
    blocks: NotRequired[int]


class Step(TypedDict):
    """One trial: a topology under one load.

    `rate` (journeys a second) is None in a closed loop, `users` in an open one. `throughput_per_s` counts the journeys
    that ended ok while the load lasted. Latencies count from the intended arrival in an open loop, from the start in a
    closed one. `holds` and `reasons` are the verdict of a search or a confirmation. Of a peak, `rate`,
    `throughput_per_s`, latencies and `errors` are those of the journeys that arrived in it; `recovery_s` says how many
    seconds later all was well again, None if it was not before the load ended. `limits` are the gates that say that the
    generator could not keep up. `cores` are CPU seconds for each second of the replay, by group of components.
    """

    label: str
    topology: str
    phase: Phase
    rate: float | None
    users: int | None
    duration_s: float
    journeys: int
    connections: int
    throughput_per_s: float
    latency_ms: dict[str, float | None]
    latency_ci95: dict[str, list[float | None]]
    errors: dict[str, int]
    under_way_most: int
    recovery_s: float | None
    holds: bool | None
    reasons: list[str]
    limits: list[str]
    start_lag_p99_ms: float | None
    cores: dict[str, float]
    memory_peak_mb: float


class Result(TypedDict):
    """The result of one topology.

    `rate` is the highest rate that was confirmed, `failed` the lowest that was seen to fail, `limit` what stood
    between. A stress test has None, None and `unknown`. Of an overload, `rate` is what its peaks are multiples of,
    given or found by a search without a confirmation. `stopped` says why the topology ended early. `searches` are the
    confirmed rates of several blocks, of which `rate` is the lowest, and `held` is their geometric mean.
    """

    rate: float | None
    failed: float | None
    limit: Limit
    tried: list[float]
    stopped: str | None
    searches: NotRequired[list[float | None]]
    held: NotRequired[Estimate | None]


class HeldRatio(TypedDict):
    """How many times as much one topology holds as another, paired by block."""

    left: str
    right: str
    ratio: Estimate


class Capacity(TypedDict):
    """What was asked, every step in its order, and the result of each topology."""

    asked: Asked
    steps: list[Step]
    results: dict[str, Result]
    ratios: NotRequired[list[HeldRatio]]


def capacity_of(summary: Mapping[str, object]) -> Capacity:
    """What the summary of a run over capacity has beside that of every run."""
    return cast("Capacity", summary[KIND])


def by_load(capacity: Capacity, topology: str) -> list[Step]:
    """A topology's steps by rising load, those of one load in their order."""
    return sorted((step for step in capacity["steps"] if step["topology"] == topology), key=load_of)


def load_of(step: Step) -> float:
    """The rate or the users of a step."""
    return step["rate"] if step["rate"] is not None else float(step["users"] or 0)


def confirmed(capacity: Capacity, topology: str) -> Step | None:
    """The step that confirmed a topology's rate; None if none did."""
    steps = (step for step in by_load(capacity, topology) if step["phase"] == "confirm" and step["holds"])
    return next(steps, None)


def claimed(capacity: Capacity, topology: str) -> list[Step]:
    """The steps that a topology's result rests on: the one that confirmed its rate, or all users' or peaks'."""
    if capacity["asked"]["load"] != "sweep":
        return [step for step in by_load(capacity, topology) if step["phase"] != "search"]
    step = confirmed(capacity, topology)
    return [] if step is None else [step]
