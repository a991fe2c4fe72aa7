"""What a run with customers who wait for updates asked, measured and found, on top of what every run has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypedDict, cast

KIND: Final = "watch"
PUSH, POLL = "push", "poll"


class Asked(TypedDict):
    """What one arm is: how many customers wait at a topology, and how; `way` is empty without any."""

    topology: str
    way: str
    watchers: int
    interval_s: float


class Waited(TypedDict):
    """So many customers who waited for news while a tape was replayed, in one block.

    Attributes:
        block: From 1.
        topology: What they waited at.
        way: `push` for streams, `poll` for requests at an interval; empty without watchers.
        watchers: How many waited.
        protocol: What they spoke: `grpc` or `rest`; empty without watchers.
        journeys: Journeys of the tape that were sent.
        failed: How many of them failed.
        updates: Updates that reached a watcher for the first time.
        missed: Updates of watched customers that did not.
        repeated: Updates that reached a watcher again.
        reconnects: How often watchers had to connect again.
        longest_reconnect_s: How long one of them was without a stream, at most.
        lateness_ms: How long after the change of its order an update was there, by name of a percentile: `p50`.
        opened_s: How long it took until all waited.
        open_s: How long they waited from then on.
        seconds: How long the load took.
        cpu_s: CPU seconds of each component meanwhile.
        memory_mb: Peak memory of each component during the load.
        bytes: What all watchers received and sent in `open_s`.
        budget_ms: Mean budget of the traced updates, by part.
        traced: How many updates were traced whole.
        off_ns: Largest distance of a budget from adding up, in ns.
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
    """Every arm of every block; `counts` are the numbers of watchers, ascending, from 0 on."""

    topologies: list[str]
    ways: list[str]
    counts: list[int]
    blocks: int
    interval_s: float
    waited: list[Waited]


def watched_of(summary: Mapping[str, object]) -> Watched:
    """What the summary of such a run has on top of every run's."""
    return cast("Watched", summary[KIND])
