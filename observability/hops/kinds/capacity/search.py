"""The search of a sweep: which rate to try next, when to stop, and with which result. It does not measure.

Climb by a factor until a rate fails, halve the gap (in ratio) until it is narrow, then confirm the highest rate that
held in a longer trial. If that rate does not hold there, go down a step and confirm again. Searching between a rate
that holds and a rate that fails is the procedure of RFC 2544, section 26.1. Single trials of the same rate may
disagree; RFC 9971 (MLRsearch) is about how a search handles that. See docs/experiments/capacity.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

GROWTH, BACK_OFF = 2.0, 0.9
"""Factor between rates while climbing, and from a rate that was not confirmed to the next lower rate."""

Limit = Literal["shop", "generator", "max_rate", "unknown"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of a search.

    Attributes:
        start: The first rate, journeys a second.
        highest: Maximum rate to try.
        lowest: Minimum rate to try.
        precision: The search ends once the lowest rate that failed is at most this multiple of the highest that held.
        max_steps: Maximum number of replays in the search, including repetitions.
        max_confirmations: Maximum number of confirming replays, each with newly drawn journeys.
    """

    start: float
    highest: float
    lowest: float = 1.0
    precision: float = 1.05
    max_steps: int = 12
    max_confirmations: int = 3


@dataclass(frozen=True, slots=True)
class Seen:
    """What one replay shows.

    Attributes:
        holds: Whether the objective was met.
        clear: Whether the objective was missed by so much that a repetition would show nothing new.
        generator_limited: Whether the generator could not keep up, so that it may have caused a failure.
    """

    rate: float
    holds: bool
    clear: bool = False
    generator_limited: bool = False


Measure = Callable[[float], Seen]


@dataclass(slots=True)
class Bracket:
    """State of a search: the highest rate that held, and the lowest that failed, perhaps because of the generator."""

    steps: int = 0
    held: float | None = None
    failed: float | None = None
    generator_limited: bool = False

    def note(self, seen: Seen) -> None:
        """Records the verdict on a rate."""
        if seen.holds:
            self.held = seen.rate if self.held is None else max(self.held, seen.rate)
        elif self.failed is None or seen.rate < self.failed:
            self.failed, self.generator_limited = seen.rate, seen.generator_limited


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search.

    Attributes:
        limit: Why no higher rate was confirmed: the shop, the generator, or the highest rate allowed; unknown if the
            search had to end before it reached any of these limits.
        tried: The rates that a confirmation tried, in order.
    """

    rate: float | None
    failed: float | None
    limit: Limit
    tried: tuple[float, ...] = ()


NO_RESULT = SearchResult(None, None, "unknown")
"""Result of a search that did not end normally, and of a stress test, which has no search."""


def climb(measure: Measure, bounds: Bounds) -> Bracket:
    """Finds the highest rate that holds, by single replays in sequence on one system.

    A rate that fails, but not clearly, is measured once more, and the second verdict counts: one stall of the machine
    must not decide. The confirmation finds rates that passed by chance.
    """
    bracket = Bracket()
    while bracket.steps < bounds.max_steps:
        rate = _next_rate(bracket, bounds)
        if rate is None:
            break
        seen = measure(rate)
        bracket.steps += 1
        if not seen.holds and not seen.clear and bracket.steps < bounds.max_steps:
            seen = measure(rate)
            bracket.steps += 1
        bracket.note(seen)
    return bracket


def confirm(measure: Measure, bracket: Bracket, bounds: Bounds) -> SearchResult:
    """Confirms the highest rate that held, or else a lower one, by longer replays on systems started for them."""
    tried: list[float] = []
    failed, generator_limited = bracket.failed, bracket.generator_limited
    for rate in _candidates(bracket, bounds):
        tried.append(rate)
        seen = measure(rate)
        if seen.holds:
            return SearchResult(rate, failed, _limit(rate, failed, generator_limited, bounds), tuple(tried))
        failed, generator_limited = rate, seen.generator_limited
    return SearchResult(None, failed, "generator" if generator_limited else "unknown", tuple(tried))


def round_rate(rate: float) -> float:
    """Rounds a rate for people: to a tenth below 100, else to a whole number."""
    return round(rate, 1) if rate < 100 else float(round(rate))


def _next_rate(bracket: Bracket, bounds: Bounds) -> float | None:
    held, failed = bracket.held, bracket.failed
    if failed is None:
        if held is None:
            return _within(bounds.start, bounds)
        return _within(held * GROWTH, bounds) if held < bounds.highest else None
    if held is None:
        return _within(failed / GROWTH, bounds) if failed > bounds.lowest else None
    middle = round_rate(math.sqrt(held * failed))
    return middle if failed / held > bounds.precision and held < middle < failed else None


def _within(rate: float, bounds: Bounds) -> float:
    return min(max(round_rate(rate), bounds.lowest), bounds.highest)


def _candidates(bracket: Bracket, bounds: Bounds) -> Iterator[float]:
    rate = bracket.held
    for _ in range(bounds.max_confirmations):
        if rate is None or rate < bounds.lowest:
            return
        yield rate
        rate = round_rate(rate * BACK_OFF)


def _limit(rate: float, failed: float | None, generator_limited: bool, bounds: Bounds) -> Limit:
    if failed is not None:
        return "generator" if generator_limited else "shop"
    return "max_rate" if rate >= bounds.highest else "unknown"
