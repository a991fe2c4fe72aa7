"""What the summary of a run with waiting customers has in addition to what every summary has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypedDict, cast

KIND: Final = "watch"
PUSH, POLL = "push", "poll"


class Asked(TypedDict):
    """One arm: how many customers wait at a topology, and how; `way` is empty without customers."""

    topology: str
    way: str
    watchers: int
    interval_s: float


class Waited(TypedDict):
    """A number of customers who waited for updates while a tape was replayed, in one block.

    Attributes:
        block: Number of the block, from 1.
        way: `push` for streams, `poll` for requests at an interval; empty without watchers.
        protocol: `grpc` or `rest`; empty without watchers.
        journeys: Number of journeys of the tape that were sent.
        updates: Updates that reached a watcher for the first time.
        missed: Updates of watched customers that reached no watcher.
        repeated: Updates that reached a watcher again.
        reconnects: How often watchers had to connect again.
        longest_reconnect_s: Longest time that a watcher was without a stream.
        lateness_ms: Time from the change of the order to the arrival of the update, by percentile, such as `p50`.
        opened_s: Time until all watchers were waiting.
        open_s: Time that all watchers waited from then on.
        seconds: Duration of the load.
        cpu_s: CPU seconds of each component during the load.
        memory_mb: Peak memory of each component during the load.
        bytes: What all watchers received and sent in `open_s`.
        budget_ms: Mean budget of the traced updates, by part.
        traced: Number of updates with a complete trace.
        off_ns: Largest difference between a budget's total and the sum of its parts, ns.
    """

    block: int
    topology: str
    way: str
    watchers: int
    protocol: str
    journeys: int
    failed: int
    updates: int
    missed: int
    repeated: int
    reconnects: int
    longest_reconnect_s: float
    lateness_ms: dict[str, float]
    opened_s: float
    open_s: float
    seconds: float
    cpu_s: dict[str, float]
    memory_mb: dict[str, float]
    bytes: int
    budget_ms: dict[str, float]
    traced: int
    off_ns: int


class Watched(TypedDict):
    """Every arm of every block; `counts` are the numbers of watchers, ascending from 0."""

    topologies: list[str]
    ways: list[str]
    counts: list[int]
    blocks: int
    interval_s: float
    waited: list[Waited]


def watched_of(summary: Mapping[str, object]) -> Watched:
    """Gives the part of a summary that only a run with waiting customers has."""
    return cast("Watched", summary[KIND])
