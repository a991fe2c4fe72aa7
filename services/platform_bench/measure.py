"""CPU time per call of two processes, in interleaved rounds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

import numpy as np
import psutil

from hops.statistics.over_blocks import spread_of
from mesh.errors import StartError
from platform_bench.load import Calls


@dataclass(frozen=True, slots=True)
class Measured:
    """CPU time per call of both sides of a case.

    Attributes:
        case: Name of the case.
        calls: Number of calls in each round and of each side.
        shop_us: CPU time of the component per call in each round, in microseconds.
        bare_us: The bare framework's.
        most: Largest ratio that passes.
    """

    case: str
    calls: int
    shop_us: Sequence[float]
    bare_us: Sequence[float]
    most: float

    @property
    def ratio(self) -> float:
        """Geometric mean of the rounds' ratios."""
        return math.exp(statistics.fmean(self._logs))

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the ratio, by Student's t over the logarithms of the rounds' ratios."""
        logs = np.array(self._logs)
        reach = math.exp(spread_of(logs - logs.mean()).half_width)
        return self.ratio / reach, self.ratio * reach

    @property
    def passes(self) -> bool:
        """Whether the ratio is at most the largest one allowed."""
        return self.ratio <= self.most

    def as_dict(self) -> dict[str, object]:
        """Returns everything as it goes into JSON."""
        return {**asdict(self), "ratio": self.ratio, "interval": self.interval, "passes": self.passes}

    @property
    def _logs(self) -> list[float]:
        return [math.log(shop / bare) for shop, bare in zip(self.shop_us, self.bare_us, strict=True)]


class Process(Protocol):
    """A process that serves calls."""

    def answer(self) -> object:
        """Has it serve one call; returns what both sides of a case must answer alike."""

    def cpu_us(self, count: int) -> float:
        """Has it serve so many calls; returns the CPU time that it took, in microseconds."""


class Served:
    """A process of this machine.

    Args:
        pid: Its id.
        calls: The calls that it serves.
    """

    def __init__(self, pid: int, calls: Calls) -> None:
        self._process = psutil.Process(pid)
        self._calls = calls

    def answer(self) -> object:
        return self._calls.answer()

    def cpu_us(self, count: int) -> float:
        before = self._cpu_s()
        self._calls.send(count)
        return (self._cpu_s() - before) * 1_000_000

    def _cpu_s(self) -> float:
        """User and system time of all threads."""
        times = self._process.cpu_times()
        return times.user + times.system


def measure(
    case: str, shop: Process, bare: Process, *, most: float, rounds: int, calls: int, progress: Callable[[int], None]
) -> Measured:
    """Measures both sides of a case in turn, in the order ABBA in each round, after a round that does not count.

    Args:
        case: Name of the case.
        shop: The component.
        bare: The bare framework.
        most: Largest ratio that passes.
        rounds: Number of rounds, at least 2.
        calls: Number of calls in each round and of each side, an even number.
        progress: Is told the number of each round that is over.

    Raises:
        StartError: The two do not answer alike, or a call failed.
    """
    if shop.answer() != bare.answer():
        raise StartError(f"{case}: the bare framework's answer differs from the shop's; they must do the same work.")
    shop_us, bare_us = [], []
    for number in range(rounds + 1):
        first = shop.cpu_us(calls // 2)
        between = bare.cpu_us(calls // 2) + bare.cpu_us(calls // 2)
        last = shop.cpu_us(calls // 2)
        if number:
            shop_us.append((first + last) / calls)
            bare_us.append(between / calls)
        progress(number)
    return Measured(case, calls, shop_us, bare_us, most)
