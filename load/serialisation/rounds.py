"""Measures operations repeatedly, in rounds of random order, and computes their means with intervals."""

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
"""The measured operations, in the order in which an answer goes through them between two programs."""
MIN_ROUNDS = 3
"""Minimum number of rounds for a useful interval; these rounds run without a time limit."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of an operation; the language is Python or Go."""

    language: str
    library: str
    encoding: str
    journey: str


@dataclass(frozen=True, slots=True)
class Size:
    """The total size of an answer's bodies in an encoding, in bytes."""

    plain: int
    gzip: int


@dataclass(frozen=True, slots=True)
class Cell:
    """One of `OPERATIONS` on a subject; `measure` repeats it for some seconds, and returns µs of CPU time each."""

    subject: Subject
    operation: str
    measure: Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Row:
    """The result of a cell: mean CPU time over the rounds, in µs, and the ends of the mean's 95 % interval."""

    subject: Subject
    operation: str
    us: float
    low: float
    high: float


def measure_rounds(
    cells: Sequence[Cell],
    *,
    rounds: int,
    seconds: float,
    seed: int,
    say: Callable[[str], None],
    now: Callable[[], float] = time.monotonic,
) -> list[Row]:
    """Measures every cell once in each round, in a new random order each time.

    A first round, which is not counted, warms everything up and takes about as long as two others. If other work slows
    the machine, later rounds are left out.

    Args:
        rounds: Number of rounds, at least `MIN_ROUNDS`.
        seconds: Approximate length of all rounds together.
        now: Returns the time, s.
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
    """Computes the mean with Student's t interval; this is valid because rounds are alike, in random order."""
    mean = statistics.fmean(us)
    half = t_quantile(len(us) - 1) * statistics.stdev(us) / len(us) ** 0.5
    return Row(cell.subject, cell.operation, mean, mean - half, mean + half)


class Lap:
    def __init__(self, call: Callable[[Any], object], argument: Any) -> None:
        self._call, self._argument = call, argument
        self._times = 0

    def __call__(self, lap_s: float) -> float:
        """Repeats the call for about a lap; returns µs of CPU time each. Wall-clock time includes other work."""
        if not self._times:
            self._times = self._calibrate(lap_s)
        return self._seconds(self._times) / self._times * 1e6

    def _calibrate(self, lap_s: float) -> int:
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
