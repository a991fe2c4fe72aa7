"""Which way of waiting for updates to choose, given a run of `make watch`: in time, and at the lowest cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hops.elements.element import Element, Points
from hops.elements.numbers import figure
from hops.elements.table import Column, number, table_of, whole, words
from hops.kinds.watch.document import POLL, Waited, Watched
from hops.kinds.watch.tables import THOUSAND, bytes_of, cases, cores_of, each, holds, how, memory_of
from hops.statistics.over_blocks import spread_of

POLLED_WITHIN = 0.99
"""Share of the polling interval that the p99 of lateness contains, because changes come at any time within it."""
TIED_CORES = 0.05
"""With a single block, which gives no interval, memory decides between ways that differ by fewer cores than this."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to wait, for a number of customers.

    Attributes:
        late_ms: Lateness of an update at p99, the maximum over the blocks; for polling, if customers poll at
            `interval_s`.
        interval_s: Time between two polls; 0 for a stream.
        cores_high: Upper end of its 95 % interval; with a single block, the mean plus `TIED_CORES`.
    """

    topology: str
    way: str
    late_ms: float
    interval_s: float
    cores: float
    cores_high: float
    memory_mib: float
    mib_per_hour: float


def choices(watched: Watched, watchers: int, lateness_s: float) -> list[Choice]:
    """Lists the ways that are in time, cheapest first: by memory if their CPU may be the lowest, then by CPU.

    A customer's cost is taken from the smallest measured number of customers that is not below `watchers`. Customers
    who poll do so as rarely as the lateness allows, which lowers their cost in proportion. They poll at least as rarely
    as measured: the cost of more polls is unknown.

    Args:
        watchers: Number of waiting customers, at most as many as were measured.
        lateness_s: Allowed lateness of an update, in seconds: p99 over a stream, maximum for polling.
    """
    ways = list(_in_time(watched, watchers, lateness_s))
    limit = _limit(ways)
    return sorted(ways, key=lambda one: (0, one.memory_mib) if one.cores <= limit else (1, one.cores))


def _limit(ways: Sequence[Choice]) -> float:
    """Computes the number of cores up to which a way may take as little CPU as the cheapest way."""
    return min(ways, key=lambda one: one.cores).cores_high if ways else 0.0


def _in_time(watched: Watched, watchers: int, lateness_s: float) -> Iterator[Choice]:
    measured, times = _find_count(watched, watchers), watchers / THOUSAND
    for (topology, way, count), of in cases(watched):
        if count != measured or not holds(of):
            continue
        late_ms, interval_s, as_often = _late(of), 0.0, 1.0
        if way == POLL:
            # What the polling interval does not explain is the time of an answer.
            answer_ms = max(late_ms - POLLED_WITHIN * 1_000 * watched["interval_s"], 0.0)
            interval_s = float(np.floor(lateness_s - answer_ms / 1_000))
            if interval_s < watched["interval_s"]:
                continue
            late_ms, as_often = 1_000 * interval_s + answer_ms, watched["interval_s"] / interval_s
        if late_ms > 1_000 * lateness_s:
            continue
        cores = each(of, cores_of(watched)) * times * as_often
        mean = max(float(cores.mean()), 0.0)
        high = spread_of(cores - cores.mean()).around(mean)[1] if cores.size > 1 else mean + TIED_CORES
        yield Choice(
            topology=topology,
            way=how(of, way),
            late_ms=late_ms,
            interval_s=interval_s,
            cores=mean,
            cores_high=high,
            memory_mib=float(each(of, memory_of(watched)).mean()) * times,
            mib_per_hour=float(each(of, bytes_of).mean()) * watchers / 1_024 * as_often,
        )


def choice_elements(watched: Watched, watchers: int, lateness_s: float) -> list[Element]:
    """Shows the ways on a terminal, cheapest first, and which to choose."""
    ways, measured = choices(watched, watchers, lateness_s), _find_count(watched, watchers)
    if not ways:
        soonest = min(_late(of) for (_, _, count), of in cases(watched) if count == measured)
        most = f"within {1_000 * lateness_s:g} ms at p99"
        text = f"None of the ways that were measured tells {watchers:,} customers {most}"
        return [Points([f"{text}; the soonest is {figure(soonest)} ms late."])]
    caption = (
        f"Ways to wait for {watchers:,} customers whose news may be {lateness_s:g} s late, the cheapest first: what "
        "the shop needs more for them, database and edge included"
    )
    table = table_of(
        "choice",
        caption,
        ways,
        [
            (Column("topology", numeric=False), lambda one: words(one.topology)),
            (Column("way", numeric=False), lambda one: words(one.way)),
            (Column("late at most", "ms"), lambda one: number(one.late_ms)),
            (Column("polls every", "s"), lambda one: whole(one.interval_s) if one.interval_s else words("")),
            (Column("cores"), lambda one: number(one.cores)),
            (Column("memory", "MiB"), lambda one: number(one.memory_mib)),
            (Column("carries", "MiB/h"), lambda one: number(one.mib_per_hour)),
        ],
    )
    return [table, Points([_advise(ways, watchers, lateness_s)])]


def _advise(ways: Sequence[Choice], watchers: int, lateness_s: float) -> str:
    best = ways[0]
    asks = f" every {best.interval_s:g} s" if best.interval_s else ""
    text = (
        f"For {watchers:,} customers and news at most {lateness_s:g} s late, take {best.topology} ({best.way}{asks}): "
        f"{figure(best.cores)} cores and {figure(best.memory_mib)} MiB."
    )
    limit = _limit(ways)
    tied = [f"{one.topology} ({one.way})" for one in ways[1:] if one.cores <= limit]
    if tied:
        text += f" The run cannot tell its CPU from that of {', '.join(tied)}; memory decided."
    return text


def _find_count(watched: Watched, watchers: int) -> int:
    return next(count for count in watched["counts"] if count >= watchers)


def _late(of: Sequence[Waited]) -> float:
    return max(one["lateness_ms"].get("p99", float("inf")) for one in of)
