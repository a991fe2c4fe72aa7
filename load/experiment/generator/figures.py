"""The load generator's own figures about a replay (`generator.json`), from one generator or from several nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Figures = Mapping[str, Any]


def by_node(figures: Figures) -> Sequence[Figures]:
    """Returns the figures of each load node, by shard; a single generator counts as the only node."""
    shards: Sequence[Figures] = figures.get("shards") or [figures]
    return shards


def late_customers(figures: Figures) -> int | None:
    """Counts warm-visit journeys that had to open connections; None for first visits, or without a network."""
    network = figures.get("network")
    return None if network is None or network["visit"] == "first" else int(network["late"])


def busiest_cores(figures: Figures) -> float:
    """Returns how many cores the generator used on the busiest load node."""
    return max(float(node["cpu_s"]) / float(node["wall_s"]) for node in by_node(figures))
