"""The generator's own figures of a replay (`generator.json`), which several load nodes may have made together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Figures = Mapping[str, Any]


def by_node(figures: Figures) -> Sequence[Figures]:
    """The figures of each load node, by shard; a generator that had the tape for itself is the only one."""
    shards: Sequence[Figures] = figures.get("shards") or [figures]
    return shards


def late_customers(figures: Figures) -> int | None:
    """Journeys of a warm visit that opened their customer's connections; None on a first one, or without a network."""
    network = figures.get("network")
    return None if network is None or network["visit"] == "first" else int(network["late"])


def busiest_cores(figures: Figures) -> float:
    """CPU seconds of the generator for each second of the replay, on the load node where that is most."""
    return max(float(node["cpu_s"]) / float(node["wall_s"]) for node in by_node(figures))
