"""An axis: the range of values, such as distances or rates, at which an experiment runs each topology."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hops.run.files import RunFiles

SHARE = "pct"
"""Unit of a place that is a share of each topology's capacity."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One topology at one place, which is as in the label: `20ms`, `60pct`."""

    label: str
    topology: str
    place: str
    at: float

    @property
    def percent(self) -> float | None:
        """The place in percent of the topology's capacity; None if it was given in units of the axis."""
        return float(self.place.removesuffix(SHARE)) if self.place.endswith(SHARE) else None


@dataclass(frozen=True, slots=True)
class Axis:
    """The places on the axis, and where a manifest records the place of an arm."""

    unit: str
    coordinate: Callable[[Mapping[str, Any], str], float]

    def label(self, topology: str, amount: float, unit: str | None = None) -> str:
        """Gives the name of a topology at a place in the results: `hybrid-20ms`, `hybrid-60pct`."""
        return f"{topology}-{amount:g}{self.unit if unit is None else unit}"

    def arms(self, manifest: Mapping[str, Any]) -> list[Arm]:
        """Lists the arms of a manifest, in its order."""
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
        """Lists the pairs of arms of two topologies at the same place."""
        arms = combinations(self.arms(run.manifest), 2)
        return [(left.label, right.label) for left, right in arms if left.place == right.place]


def by_topology(arms: Iterable[Arm]) -> dict[str, list[Arm]]:
    """Groups arms by topology, sorted by coordinate; topologies are in the order of the manifest."""
    sides: dict[str, list[Arm]] = {}
    for arm in arms:
        sides.setdefault(arm.topology, []).append(arm)
    return {topology: sorted(side, key=lambda arm: arm.at) for topology, side in sides.items()}


def shared_places(arms: Iterable[Arm]) -> list[float]:
    """Lists the coordinates at which every topology ran, in ascending order; shares of capacities do not count."""
    places = [{arm.at for arm in side if arm.percent is None} for side in by_topology(arms).values()]
    return sorted(set.intersection(*places)) if places else []
