"""Figures that a finding can take from a summary, each with its 95 % interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from experiment.errors import UsageError
from hops.analysis.either_order import Pairs
from hops.elements import numbers
from hops.elements.numbers import Ends
from hops.run.documents.estimate import Estimate

Summary = Any
"""A whole `summary.json`, whose keys the table of findings names."""
TIMES = "times"


class Figure(NamedTuple):
    """A figure.

    Attributes:
        ends: Both ends of the estimate's 95 % confidence interval over blocks.
        unit: Unit of the estimate: ms, bytes, `times` for a ratio, `%`, or empty for a count.
    """

    value: float
    ends: Ends
    unit: str

    @property
    def text(self) -> str:
        """The figure as text for a sentence."""
        if self.unit == TIMES:
            return numbers.times(self.value, self.ends)
        return numbers.figure(self.value, self.ends, self.unit)

    def holds(self, relation: str, bound: float) -> bool:
        """Returns whether the interval is `above` or `below` a bound, or `includes` it; False if an end is unknown."""
        low, high = self.ends
        if relation == "above":
            return low is not None and low > bound
        if relation == "below":
            return high is not None and high < bound
        return low is not None and high is not None and low <= bound <= high


def latency(summary: Summary, topology: str, journey: str, metric: str) -> Figure:
    """Returns a topology's latency for one journey or `all`, in ms; `metric` is mean, p50, p90, p95 or p99."""
    of = summary["topologies"][topology]["journeys"][journey]
    return Figure(of["latency_ms"][metric], of["latency_ci95"][metric], "ms")


def times(summary: Summary, left: str, right: str, journey: str, metric: str) -> Figure:
    """Returns how many times as long the left topology takes as the right one; `metric` may also be cpu_ms."""
    row: Mapping[str, Any] | None = Pairs(summary).comparison(journey, metric, left, right)
    if row is None:
        raise LookupError(f"{left} and {right} were not compared")
    return Figure(row["ratio"], row["ratio_ci95"], TIMES)


def part(summary: Summary, left: str, right: str, journey: str, name: str) -> Figure:
    """Returns how much longer a part, or group of parts, is in the mean hop budget of the left topology, in ms."""
    row = Pairs(summary).hops(journey, left, right)
    if row is None:
        raise LookupError(f"the hop budgets of {left} and {right} were not compared")
    of = next(one for one in [*row["groups"], *row["parts"]] if one["part"] == name)
    return Figure(of["difference_ms"], of["ci95"], "ms")


def core_hours(summary: Summary, topology: str, group: str) -> Figure:
    """Returns the core-hours that a group of components, or `total`, needs for a million journeys."""
    return _estimate(summary["topologies"][topology]["cost"][group], "core-hours")


def at_network(summary: Summary, topology: str, journey: str, network: str) -> Figure:
    """Returns a topology's p50 on a named network, in ms, as the distance model predicts it."""
    return _estimate(summary["distance"]["named"][network]["p50_ms"][journey][topology], "ms")


def from_rtt(summary: Summary, sooner: str, other: str, journey: str) -> Figure:
    """Returns the round-trip time, in ms, above which the topology `sooner` answers a journey sooner than the other."""
    rows = summary["distance"]["journeys"][journey]["pairs"]
    row = next(one for one in rows if {one["left"], one["right"]} == {sooner, other})
    if row["verdict"] != "from" or row["sooner"] != sooner:
        raise LookupError(f"there is no distance from which {sooner} answers {journey} sooner than {other}")
    return Figure(row["at_ms"], row["ci95_ms"], "ms")


def sent_beyond(summary: Summary, topology: str, journey: str) -> Figure:
    """Returns the bytes sent for the parts of an answer that the journey's screen does not show."""
    of = next(one for one in summary["over_fetching"] if (one["topology"], one["journey"]) == (topology, journey))
    return _estimate(of["sent_beyond"], "bytes")


def hit_share(summary: Summary, topology: str) -> Figure:
    """Returns the share of requests that a shared cache at the edge answered, in percent."""
    of = summary["topologies"][topology]["edge_cache"]["hit_share"]
    return Figure(100 * of["value"], [None if end is None else 100 * end for end in of["ci95"]], "%")


FIGURES: Mapping[str, Callable[..., Figure]] = {
    function.__name__.replace("_", "-"): function
    for function in (latency, times, part, core_hours, at_network, from_rtt, sent_beyond, hit_share)
}
"""The readers by name. A reader's first argument is a topology, so a chart can show one figure for every topology."""


def read_figure(summary: Summary, reader: str, *arguments: str) -> Figure:
    """Reads a figure from a summary; raises UsageError if the summary has no such figure."""
    read = FIGURES[reader]  # an unknown reader is a mistake in the table, and not a figure that the run lacks
    lacks = f"the run {summary['name']} has no figure [{' '.join((reader, *arguments))}]"
    try:
        figure = read(summary, *arguments)
    except (LookupError, StopIteration, TypeError) as error:
        raise UsageError(f"{lacks}: {error}") from error
    if figure.value is None:
        raise UsageError(lacks)
    return figure


def _estimate(of: Estimate, unit: str) -> Figure:
    return Figure(of["value"], of["ci95"], unit)
