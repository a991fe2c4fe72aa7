"""The arms of an experiment over rates: each topology at each rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

KIND: Final = "rates"
_SHARE = "pct"


@dataclass(frozen=True, slots=True)
class Arm:
    """One topology at one rate.

    Args:
        label: Name of the arm in the results.
        topology: Name of the topology.
        rate: Journeys a second, in the mean.
        percent: The rate in percent of what the topology holds; None where it was given as it is.
    """

    label: str
    topology: str
    rate: float
    percent: float | None = None


def label_of(topology: str, amount: float, *, percent: bool = False) -> str:
    """What the results call a topology at a rate: `hybrid-20`, or `hybrid-60pct` at 60 % of what it holds."""
    return f"{topology}-{amount:g}{_SHARE if percent else ''}"


def arms_of(manifest: Mapping[str, Any]) -> list[Arm]:
    """The arms of a manifest, in its order."""
    arms = []
    for label, document in manifest["topologies"].items():
        amount = label.removeprefix(f"{document['name']}-")
        percent = float(amount.removesuffix(_SHARE)) if amount.endswith(_SHARE) else None
        arms.append(Arm(label, str(document["name"]), float(manifest["loads"][label]["rate"]), percent))
    return arms


def by_topology(arms: list[Arm]) -> dict[str, list[Arm]]:
    """Each topology's arms by rising rate, in the order of the manifest."""
    return {
        topology: sorted((arm for arm in arms if arm.topology == topology), key=lambda arm: arm.rate)
        for topology in dict.fromkeys(arm.topology for arm in arms)
    }


def equal_rates(arms: list[Arm]) -> list[float]:
    """The rates that every topology ran at, ascending."""
    rates = [{arm.rate for arm in own} for own in by_topology(arms).values()]
    return sorted(set.intersection(*rates)) if rates else []
