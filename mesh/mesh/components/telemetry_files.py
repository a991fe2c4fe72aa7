"""What the shop's processes write about themselves: accounts of their spans, and counters of their cache requests."""

from __future__ import annotations

from collections.abc import Mapping
from operator import add
from typing import NamedTuple

import msgspec

from mesh.paths import RunFolder


class SpanAccount(msgspec.Struct, frozen=True):
    """The account of one process's spans.

    Attributes:
        recorded: Spans that have ended.
        exported: How many of these spans the collector has accepted.
        lost: How many of these spans the collector will never get.
        export_cpu_s: CPU seconds that the process needed to encode spans; 0 if it does not report this.
        cost_ns: Cost of a span for the thread that makes it, in ns of CPU time, by kind; empty before the process ends.
    """

    recorded: int
    exported: int
    lost: int
    export_cpu_s: float = 0.0
    cost_ns: Mapping[str, int] = msgspec.field(default_factory=dict)


def span_accounts(folder: RunFolder) -> dict[str, SpanAccount]:
    """The newest account of every process, by the process's name. Without spans, a process writes it when it ends."""
    files = sorted(folder.telemetry.glob("*.json"))
    return {file.stem: msgspec.json.decode(file.read_bytes(), type=SpanAccount) for file in files}


def spans_lost(accounts: Mapping[str, SpanAccount]) -> int:
    """Number of spans that these processes never delivered to the collector, by their own count."""
    return sum(account.lost for account in accounts.values())


class CacheCounts(NamedTuple):
    """Counters of a cache: rows requested, rows found, and requests that the cache did not answer in time."""

    asked: int = 0
    hits: int = 0
    unanswered: int = 0


def cache_counts(folder: RunFolder, began_s: float, ended_s: float) -> Mapping[str, CacheCounts]:
    """Counts of the cache requests that ended processes made within a period, by component; empty without a cache.

    The period is in Unix time; processes count by whole seconds.
    """
    counts: dict[str, CacheCounts] = {}
    for path in sorted(folder.telemetry.glob("cache/*.json")):
        name, _, number = path.stem.rpartition("-")
        component = name if number.isdigit() else path.stem
        for second, *of_second in msgspec.json.decode(path.read_bytes(), type=list[tuple[int, int, int, int]]):
            if int(began_s) <= second <= ended_s:
                counts[component] = CacheCounts(*map(add, counts.get(component, CacheCounts()), of_second))
    return counts
