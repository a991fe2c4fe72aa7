"""What the summary of a capacity run has in addition to what every summary has."""

# Annotations are evaluated, so that older summaries, which lack optional keys, can be read.
from collections.abc import Mapping
from typing import Final, Literal, NotRequired, TypedDict, cast

from hops.kinds.capacity.search import Limit
from hops.run.documents.estimate import Estimate

KIND: Final = "capacity"
Load = Literal["sweep", "stress", "overload"]
Phase = Literal["search", "confirm", "users", "peak"]
STAIRS = (0.5, 0.0, 0.0, 0.5, 0.5)
"""The rate in each equal part of an overload, as a multiple of the sustained rate; 0 stands for the peak's multiple."""
PEAK_BEGINS, PEAK_PARTS = 1, 2


class SearchBounds(TypedDict):
    """The bounds of a search, as in `hops.kinds.capacity.search.Bounds`."""

    start: float
    highest: float
    lowest: float
    precision: float
    max_steps: int
    max_confirmations: int


class Asked(TypedDict):
    """The user's request.

    `given` are the rates that topologies sustain according to the user, in journeys a second. `connections` counts the
    connections of all clients together; 0 means as many as the users need. A stress test has no search, so it has no
    bounds and no objective. `blocks` is the number of searches; older runs lack it.
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

    `rate` (journeys a second) is None in a closed loop, and `users` in an open loop. `throughput_per_s` counts the
    journeys that ended ok while the load lasted. Latencies count from the intended arrival in an open loop, and from
    the actual start in a closed loop. `holds` and `reasons` are the verdict of a search or a confirmation.

    For a peak, `rate`, `throughput_per_s`, latencies and `errors` are those of the journeys that arrived in it.
    `recovery_s` is the time in seconds until the topology had recovered; None if the load ended earlier.

    `limits` are the gates that show that the generator could not keep up. `cores` are CPU seconds per second of the
    replay, by group of components.
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

    `rate` is the highest confirmed rate, `failed` the lowest rate that failed, and `limit` is the reason that no higher
    rate was confirmed. A stress test has neither rate, and the limit `unknown`. In an overload, `rate` is the rate that
    its peaks are multiples of, given or found by a search without a confirmation. `stopped` says why the topology ended
    early.

    `searches` are the confirmed rates of several blocks: `rate` is the lowest, `held` their geometric mean, and `limit`
    is `shop` only if it is that in each block. `step` is the largest ratio of a rate that failed to the rate that the
    same search confirmed, and at least the precision.
    """

    rate: float | None
    failed: float | None
    limit: Limit
    tried: list[float]
    stopped: str | None
    searches: NotRequired[list[float | None]]
    step: NotRequired[float]
    held: NotRequired[Estimate | None]


class HeldRatio(TypedDict):
    """The rate that one topology sustains, divided by another topology's rate, paired by block."""

    left: str
    right: str
    ratio: Estimate


class Capacity(TypedDict):
    """The request, every step in its order, and the result of each topology."""

    asked: Asked
    steps: list[Step]
    results: dict[str, Result]
    ratios: NotRequired[list[HeldRatio]]


def capacity_of(summary: Mapping[str, object]) -> Capacity:
    """Gives the part of a summary that only a capacity run has."""
    return cast("Capacity", summary[KIND])


def by_load(capacity: Capacity, topology: str) -> list[Step]:
    """Sorts a topology's steps by load; steps with equal load keep their order."""
    return sorted((step for step in capacity["steps"] if step["topology"] == topology), key=load_of)


def load_of(step: Step) -> float:
    """Gives the rate or the number of users of a step."""
    return step["rate"] if step["rate"] is not None else float(step["users"] or 0)


def find_confirmed(capacity: Capacity, topology: str) -> Step | None:
    """Finds the step that confirmed a topology's rate, the lowest of several blocks; None if no rate was confirmed."""
    return next(iter(find_claimed(capacity, topology)), None)


def find_claimed(capacity: Capacity, topology: str) -> list[Step]:
    """Lists the steps behind a topology's result: each step that confirmed a rate, or all with users or peaks."""
    steps = by_load(capacity, topology)
    if capacity["asked"]["load"] != "sweep":
        return [step for step in steps if step["phase"] != "search"]
    return [step for step in steps if step["phase"] == "confirm" and step["holds"]]


def may_hold_more(result: Result) -> bool:
    """Whether a confirmed rate is only a lower bound, because something other than the shop was the limit."""
    return result["rate"] is not None and result["limit"] != "shop"
