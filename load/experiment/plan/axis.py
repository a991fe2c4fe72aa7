"""Arms along an axis: every topology at every one of several places, such as distances or rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from experiment.arguments import read_items
from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import MAX_ARMS
from mesh.description.topology import Topology

T = TypeVar("T")


def arms_along(
    name: str,
    given: str,
    noun: str,
    example: str,
    topologies: Sequence[Topology],
    read: Callable[[str], T],
    order: Callable[[T], tuple[float, ...]],
) -> list[tuple[Topology, T]]:
    """Reads the places that a setting lists, and pairs every place with every topology, in the order of the places.

    Raises:
        UsageError: A place is invalid or is given twice, there is only one place, or there are too many arms.
    """
    places = sorted(read_items(name, given, read), key=order)
    if len(places) < 2:
        raise UsageError(f"{name}={given} is a single {noun}; give at least two, such as {example}")
    count = len(topologies) * len(places)
    if count > MAX_ARMS:
        raise UsageError(
            f"{len(topologies)} topologies at {len(places)} {noun}s make {count} arms, and an experiment has at most "
            f"{MAX_ARMS}: give fewer topologies= or {name}="
        )
    return [(topology, place) for place in places for topology in topologies]
