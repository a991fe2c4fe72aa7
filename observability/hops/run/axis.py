"""An axis: an experiment runs each topology at several places of it, such as distances or rates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hops.run.files import RunFiles

SHARE = "pct"
"""Unit of a place that is a share of what each topology holds."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One topology at one place.

    Attributes:
        label: Name of the arm in the results.
        topology: Name of the topology.
        place: Its place, as in the label: `20ms`, `60pct`.
        at: Its coordinate on the axis, such as milliseconds.
    """

    label: str
    topology: str
    place: str
    at: float

    @property
    def percent(self) -> float | None:
        """The place in percent of what the topology holds; None where it was given as it is."""
        return float(self.place.removesuffix(SHARE)) if self.place.endswith(SHARE) else None


@dataclass(frozen=True, slots=True)
class Axis:
    """What places there are, and where a manifest says at which of them an arm ran.

    Attributes:
        unit: Unit of the coordinates, as in the labels.
        coordinate: The coordinate of an arm, by the manifest and the arm's label.
    """

    unit: str
    coordinate: Callable[[Mapping[str, Any], str], float]

    def label(self, topology: str, amount: float, unit: str | None = None) -> str:
        """What the results call a topology at a place: `hybrid-20ms`, `hybrid-60pct`."""
        return f"{topology}-{amount:g}{self.unit if unit is None else unit}"

    def arms(self, manifest: Mapping[str, Any]) -> list[Arm]:
        """The arms of a manifest, in its order."""
        return [
            Arm(
                label,
                str(document["name"]),
                label.removeprefix(f"{document['name']}-"),
                float(self.coordinate(manifest, label)),
            )
            for label, document in manifest["topologies"].items()
        ]

    def pairs(self, run: RunFiles) -> list[tuple[str, str]]:
        """The arms of two topologies at the same place."""
        arms = combinations(self.arms(run.manifest), 2)
        return [(left.label, right.label) for left, right in arms if left.place == right.place]


def by_topology(arms: Iterable[Arm]) -> dict[str, list[Arm]]:
    """The arms of each topology by rising coordinate, in the order of the manifest."""
    sides: dict[str, list[Arm]] = {}
    for arm in arms:
        sides.setdefault(arm.topology, []).append(arm)
    return {topology: sorted(side, key=lambda arm: arm.at) for topology, side in sides.items()}


def shared_places(arms: Iterable[Arm]) -> list[float]:
    """The coordinates at which every topology ran, ascending."""
    places = [{arm.at for arm in side} for side in by_topology(arms).values()]
    return sorted(set.intersection(*places)) if places else []
