"""What `make watch` leaves: `watch.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypedDict, cast

from hops.run.files import read_document


class Waited(TypedDict):
    """So many customers who waited for news while a tape was replayed, in one block.

    Attributes:
        block: From 1.
        topology: What they waited at.
        way: `push` for streams, `poll` for requests at an interval; the same load without watchers counts for both.
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
        seconds: How long the load and the wait for its last updates took, while all waited.
        cpu_s: CPU seconds of each component meanwhile.
        memory_mb: Memory of each component at the end, as `make connections` has it.
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


class Document(TypedDict):
    """The whole run; `counts` are the numbers of watchers, ascending, from 0 on."""

    schema: int
    name: str
    manifest: dict[str, Any]
    ways: list[str]
    counts: list[int]
    blocks: int
    rate: float
    interval_s: float
    waited: list[Waited]


def read_watched(path: Path) -> Document:
    """Reads a run's document.

    Raises:
        MalformedRunError: It is missing, cut short, or of another schema; or it lacks what this version reads, as one
            does that has no `open_s`, whose CPU was taken for longer than it was counted.
    """
    return cast("Document", read_document(path, form=Document))
