"""The search of a sweep: which rate to try next, when to stop, and with which result. It measures nothing itself.

Climb by a factor until a rate fails, halve the gap (in ratio) until it is narrow, then confirm the highest rate that
held, for longer. A rate that does not hold then is taken down a step and confirmed again. Searching between a rate that
holds and a rate that fails is the procedure of RFC 2544, section 26.1. Single trials of the same rate may disagree: how
a search answers that is the subject of RFC 9971 (MLRsearch). See docs/experiments/capacity.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

GROWTH, BACK_OFF = 2.0, 0.9
"""Factor from one rate to the next while climbing, and from a rate that was not confirmed to the next that is tried."""

Limit = Literal["shop", "generator", "max_rate", "unknown"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of a search.

    Attributes:
        start: The first rate, journeys a second.
        highest: No rate above it is tried.
        lowest: No rate below it is tried.
        precision: The search ends once the lowest rate that failed is at most this times the highest that held.
        max_steps: Replays of the search, repetitions included.
        max_confirmations: Replays that confirm, each of another draw of journeys.
    """

    start: float
    highest: float
    lowest: float = 1.0
    precision: float = 1.05
    max_steps: int = 12
    max_confirmations: int = 3


@dataclass(frozen=True, slots=True)
class Seen:
    """What one replay says to the search.

    Attributes:
        rate: Journeys a second that were sent.
        holds: Whether the objective was met.
        clear: Whether it was missed by so much that a repetition would tell nothing new.
        generator_limited: Whether the generator could not keep up, so that a failure may be its own.
    """

    rate: float
    holds: bool
    clear: bool = False
    generator_limited: bool = False


Measure = Callable[[float], Seen]


@dataclass(slots=True)
class Bracket:
    """What a search knows: the highest rate that held below every rate that failed, and the lowest that failed.

    Attributes:
        steps: Replays so far.
        held: The highest rate that held; None if none did.
        failed: The lowest rate that failed; None if none did.
        generator_limited: Whether the generator was at its limit when `failed` did.
    """

    steps: int = 0
    held: float | None = None
    failed: float | None = None
    generator_limited: bool = False

    def note(self, seen: Seen) -> None:
        """Takes in the verdict on a rate."""
        if seen.holds:
            self.held = seen.rate if self.held is None else max(self.held, seen.rate)
        elif self.failed is None or seen.rate < self.failed:
            self.failed, self.generator_limited = seen.rate, seen.generator_limited


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search.

    Attributes:
        rate: The highest rate that was confirmed, journeys a second; None if none was.
        failed: The lowest rate seen to fail; None if none did.
        limit: What stood above `rate`: the shop, the generator, the highest rate allowed; unknown if the search had to
            end before it met any.
        tried: The rates that were to be confirmed, in order.
    """

    rate: float | None
    failed: float | None
    limit: Limit
    tried: tuple[float, ...] = field(default=())


NO_RESULT = SearchResult(None, None, "unknown")
"""A search that did not come to its end, and a stress test, which searches for nothing."""


def climb(measure: Measure, bounds: Bounds) -> Bracket:
    """Finds how high the rate may go, by single replays that follow each other on one system.

    A rate that fails, but not clearly, is measured once more, and the second verdict counts: one stall of the machine
    must not decide. Rates that pass by luck are the confirmation's business.

    Args:
        measure: Replays at a rate.
        bounds: The bounds.
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
    """Confirms the highest rate that held, or the next ones below it.

    Args:
        measure: Replays at a rate, longer than the search did, on a system started for it.
        bracket: Result of the search.
        bounds: The bounds.
    """
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
    """A rate as people write it: to a tenth below 100, to a whole one above."""
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
