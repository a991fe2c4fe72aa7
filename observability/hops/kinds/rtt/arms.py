"""The arms of an experiment over distances: each topology at each round-trip time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

KIND: Final = "rtt"


@dataclass(frozen=True, slots=True)
class Arm:
    """One topology at one distance.

    Args:
        label: Name of the arm in the results.
        topology: Name of the topology.
        rtt_ms: Round-trip time between customer and edge.
    """

    label: str
    topology: str
    rtt_ms: float


def label_of(topology: str, rtt_ms: float) -> str:
    """What the results call a topology at a distance: `hybrid-20ms`."""
    return f"{topology}-{rtt_ms:g}ms"


def arms_of(manifest: Mapping[str, Any]) -> list[Arm]:
    """The arms of a manifest, in its order."""
    return [
        Arm(label, str(document["name"]), float(manifest["arms"][label]["rtt_ms"]))
        for label, document in manifest["topologies"].items()
    ]
