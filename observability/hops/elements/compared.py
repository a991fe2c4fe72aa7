"""What a run compares, as the nouns of its sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Compared(NamedTuple):
    """The nouns for what a run compares: the system answers requests, which enter it at `entry`."""

    one: str
    many: str
    a_one: str
    system: str = "shop"
    entry: str = "edge"


TOPOLOGY = Compared("topology", "topologies", "a topology")
EDGE = Compared("edge", "edges", "an edge")
TARGET = Compared("target", "targets", "a target", system="target", entry="target")
_BY_NAME = {noun.one: noun for noun in (TOPOLOGY, EDGE, TARGET)}


def compared_in(summary: Mapping[str, Any]) -> Compared:
    """Gives the nouns for what a run compares; by default, topologies."""
    return _BY_NAME[summary.get("compared", TOPOLOGY.one)]
