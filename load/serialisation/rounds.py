"""Measures operations again and again, in rounds of random order, and their means with intervals."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from hops.statistics.intervals import t_quantile

BUILD, ENCODE, GZIP, GUNZIP, DECODE, READ = OPERATIONS = ("build", "encode", "gzip", "gunzip", "decode", "read")
"""What is measured, in the order of an answer's way from one program to the next."""
MIN_ROUNDS = 3
"""Fewer have no interval worth the name; so many are measured however long they take."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What an operation is done to.

    Attributes:
        language: Python or Go.
        library: What encodes and decodes.
        encoding: What the bytes are.
        journey: Whose answer it is.
    """

    language: str
    library: str
    encoding: str
    journey: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One operation on one subject.

    Attributes:
        subject: What it is done to.
        operation: One of `OPERATIONS`.
        measure: Does it again and again for about so many seconds; returns CPU time per operation, µs.
    """

    subject: Subject
    operation: str
    measure: Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured of a cell.

    Attributes:
        subject: What the operation was done to.
        operation: Its name.
        us: Mean over the rounds, µs of CPU time.
        low: Lower end of the mean's 95 % interval.
        high: Upper end.
    """

    subject: Subject
    operation: str
    us: float
    low: float
    high: float


def measured(
    cells: Sequence[Cell],
    *,
    rounds: int,
    seconds: float,
    seed: int,
    say: Callable[[str], None],
    now: Callable[[], float] = time.monotonic,
) -> list[Row]:
    """Measures every cell once in each round, in an order drawn anew.

    A round before them warms everything up and is not counted; it takes about as long as two. Where other work holds
    the machine up, later rounds are left out.

    Args:
        cells: What to measure.
        rounds: How many rounds, at least `MIN_ROUNDS`.
        seconds: How long all rounds may take together, about.
        seed: Seed of the orders.
        say: Told what is going on.
        now: A clock, s.
    """
    lap_s = seconds / (len(cells) * (rounds + 2))
    draw = random.Random(seed)
    took: list[list[float]] = [[] for _ in cells]
    until = now() + seconds
    for number in range(rounds + 1):
        if number > MIN_ROUNDS and now() > until:
            say(f"out of time after {number - 1} of {rounds} rounds")
            break
        say(f"round {number} of {rounds}" if number else f"warming up {len(cells)} measurements")
        for place in draw.sample(range(len(cells)), len(cells)):
            us = cells[place].measure(lap_s)
            if number:
                took[place].append(us)
    return [_row(cell, values) for cell, values in zip(cells, took, strict=True)]


def _row(cell: Cell, us: Sequence[float]) -> Row:
    """The mean with Student's t interval: rounds are alike, and their order is random."""
    mean = statistics.fmean(us)
    half = t_quantile(len(us) - 1) * statistics.stdev(us) / len(us) ** 0.5
    return Row(cell.subject, cell.operation, mean, mean - half, mean + half)


class Lap:
    """A call that is done as often as fits into a lap.

    Args:
        call: The function.
        argument: Its argument.
    """

    def __init__(self, call: Callable[[Any], object], argument: Any) -> None:
        self._call, self._argument = call, argument
        self._times = 0

    def __call__(self, lap_s: float) -> float:
        """Does it for about so many seconds.

        Returns:
            CPU time of this process per call, µs: on a shared machine the wall clock measures the neighbours.
        """
        if not self._times:
            self._times = self._calibrated(lap_s)
        return self._seconds(self._times) / self._times * 1e6

    def _calibrated(self, lap_s: float) -> int:
        times = 1
        while (took_s := self._seconds(times)) < lap_s / 2:
            times *= 2
        return max(1, round(times * lap_s / took_s))

    def _seconds(self, times: int) -> float:
        call, argument = self._call, self._argument
        began = time.process_time()
        for _ in repeat(None, times):
            call(argument)
        return time.process_time() - began
