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

    `way` is `push` for streams and `poll` for requests at an interval; without watchers, it and `protocol` (`grpc` or
    `rest`) are empty. `journeys` of the tape were sent in `seconds`. `updates` reached a watcher for the first time,
    and `repeated` ones again; `missed` ones reached none. `reconnects` counts how often watchers had to connect again,
    without a stream for at most `longest_reconnect_s`. `lateness_ms` is the time from the change of the order to the
    arrival of the update, by percentile, such as `p50`. All watchers were waiting after `opened_s`, and waited for
    `open_s`; `bytes` is what they received and sent in this time. `cpu_s` and the peak `memory_mb` are those of each
    component during the load. `budget_ms` is the mean budget of the `traced` updates, by part; the traces of `untraced`
    updates are incomplete. `off_ns` is the largest difference between a budget's total and the sum of its parts.
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
    untraced: int
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
