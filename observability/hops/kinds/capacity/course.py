"""The course of one topology's steps: how earlier steps determine the next step, and what all steps show together.

A run follows this course while it measures, and its analysis follows it again over the rows.
"""

from __future__ import annotations

from collections.abc import Callable

from hops.kinds.capacity.document import Asked, Phase, Step
from hops.kinds.capacity.search import NO_RESULT, Bounds, Limit, SearchResult, Seen, climb, confirm
from hops.kinds.capacity.steps import seen_in

Measure = Callable[[Phase, float, float], Step]
"""Measures a step, or finds its rows, by its phase, its load and the rate that the topology sustains.

The load is the journeys a second, the number of users, or a peak's height as a multiple of that rate."""


def take_course(asked: Asked, topology: str, measure: Measure) -> SearchResult:
    """Takes all steps of a topology, and returns what they show together."""
    if asked["load"] == "stress":
        for users in asked["users"]:
            measure("users", users, 0.0)
        return NO_RESULT
    objective_ms, bounds = asked["objective_ms"], asked["search"]
    assert objective_ms is not None
    assert bounds is not None

    def look(phase: Phase, rate: float) -> Seen:
        return seen_in(measure(phase, rate, 0.0), objective_ms)

    if given := asked["given"].get(topology):
        result = SearchResult(given, None, "unknown")
    else:
        bracket = climb(lambda rate: look("search", rate), Bounds(**bounds))
        if asked["load"] == "sweep":
            return confirm(lambda rate: look("confirm", rate), bracket, Bounds(**bounds))
        limit: Limit = "unknown" if bracket.failed is None else "generator" if bracket.generator_limited else "shop"
        result = SearchResult(bracket.held, bracket.failed, limit)
    for factor in asked["factors"] if result.rate else ():
        measure("peak", factor, result.rate or 0.0)
    return result
