"""Cache counters that the shop's processes report."""

from __future__ import annotations

from collections.abc import Mapping
from operator import add
from typing import NamedTuple

import msgspec

from mesh.paths import RunFolder


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
