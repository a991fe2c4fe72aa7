"""The effect of load on topologies: where their ranking flips, and what is full first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypedDict, cast

from hops.run.axis import Axis
from hops.run.documents.distance import Turning
from hops.run.documents.estimate import Estimate

KIND: Final = "rates"
AXIS = Axis("", lambda manifest, label: manifest["loads"][label]["rate"])
"""The axis of the experiment: journeys a second."""


class RateArm(TypedDict):
    """One arm: a topology at a rate, in journeys a second.

    `percent` is the rate in percent of the topology's sustained rate; None if the user gave rates instead.
    `cpu_ms` is the CPU time of a journey in all components but the generator; `cores` is what all processes used
    together, including the generator.
    """

    label: str
    topology: str
    rate: float
    percent: float | None
    cpu_ms: Estimate | None
    cores: float


class Crossing(TypedDict):
    """The rate at which the ranking of two topologies flips, in one metric of one journey or of `all`.

    `verdict` is as for distances. `from`: `faster` is shown to be faster from the rate `at` on, and the other topology
    below it. `up_to`: `faster` is shown to be faster up to `ci95[0]`, and nothing is shown beyond. `always`: `faster`
    is shown to be faster at every rate. `reason` says why nothing was tested.
    """

    journey: str
    metric: str
    left: str
    right: str
    verdict: Turning
    faster: str | None
    at: float | None
    ci95: list[float | None]
    reason: str | None


class Filling(TypedDict):
    """The rate at which a topology's event loops or machine are full, by a straight line fitted to its CPU use.

    `component` has processes with one event loop each, which can use one core each, or is `machine`: all processes
    together. `limit` is the number of cores available, and `cores` the number used at the highest rate.
    """

    topology: str
    component: str
    limit: float
    cores: float
    at: Estimate


class Rates(TypedDict):
    """The effect of load.

    `equal` are the rates in journeys a second at which all topologies ran, ascending. Percentages do not count.
    `fillings` are sorted by rate.
    """

    arms: list[RateArm]
    equal: list[float]
    crossings: list[Crossing]
    fillings: list[Filling]


def rates_of(summary: Mapping[str, object]) -> Rates:
    """Gives the part of a summary that only an experiment over rates has."""
    return cast("Rates", summary[KIND])
