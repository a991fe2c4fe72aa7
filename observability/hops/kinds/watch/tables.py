"""Lateness of updates and the cost of waiting for them: tables, sentences, page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from hops.budget.groups import group_of
from hops.conclusions.wording import not_tested
from hops.elements.element import Element, Points, Section
from hops.elements.numbers import plain, share
from hops.elements.table import Cell, Column, Table, number, whole, words
from hops.kinds.watch.document import POLL, PUSH, Waited, Watched, watched_of
from hops.tables.estimate import over_blocks
from hops.tables.view import SummaryView

PERCENTILES = ("p50", "p90", "p99")
THOUSAND = 1_000
HOUR_S = 3_600
WAYS = {PUSH: "stream", POLL: "polling"}

Case = tuple[str, str, int]
"""Topology, way to wait, number of watchers."""


def section(view: SummaryView) -> Section:
    """Shows how late updates were, what waiting cost, and where the time went."""
    watched = watched_of(view.summary)
    sentences = list(conclusions(watched))
    traced = any(one["traced"] and one["way"] == PUSH for one in watched["waited"])
    elements: list[Element] = [
        *([Points(sentences, tone="conclusions")] if sentences else []),
        lateness_table(watched),
        cost_table(watched),
        *([budget_table(watched)] if traced else []),
    ]
    return Section("lateness", "Lateness and cost", elements)


def lateness_table(watched: Watched) -> Table:
    """Shows how late updates were, and whether each watcher got its own updates."""
    rows: list[Sequence[Cell]] = []
    for (topology, way, count), of in cases(watched):
        figures = [over_blocks(each(of, _lateness(name))) for name in PERCENTILES]
        counted = [sum(one[name] for one in of) for name in ("updates", "missed", "repeated")]
        rows.append([words(topology), words(how(of, way)), whole(count), *map(whole, counted), *figures])
    columns = [Column("topology", numeric=False), Column("way", numeric=False), Column("watchers")]
    columns += [Column(name) for name in ("updates", "missed", "again")]
    columns += [Column(name, "ms", interval=True) for name in PERCENTILES]
    caption = (
        "Time from the statement that changes an order until the update is at the client; "
        f"means over blocks ({watched['blocks']}) with 95 % intervals"
    )
    return Table("lateness", caption, columns, rows, heads=2)


def cost_table(watched: Watched) -> Table:
    """Shows what a thousand watchers cost."""
    rows: list[Sequence[Cell]] = []
    for (topology, way, count), of in cases(watched):
        cells = [over_blocks(each(of, per)) for per in (cores_of(watched), memory_of(watched), bytes_of)]
        opened = over_blocks(each(of, lambda one: one["opened_s"]))
        rows.append([words(topology), words(how(of, way)), whole(count), *cells, opened])
    columns = [Column("topology", numeric=False), Column("way", numeric=False), Column("watchers")]
    columns += [
        Column("cores", "for 1,000", interval=True),
        Column("memory", "MiB for 1,000", interval=True),
        Column("bytes", "KiB/watcher-hour", interval=True),
        Column("until all wait", "s", interval=True),
    ]
    caption = (
        "What a thousand watchers add to the shop's use of resources under the same load, database and edge included; "
        "and what each watcher's connection carries"
    )
    return Table("cost", caption, columns, rows, heads=2)


def budget_table(watched: Watched) -> Table:
    """Shows where the time of traced updates over streams went; polling customers wait for a poll, which is no hop."""
    counts = watched["counts"][1:]
    rows: list[Sequence[Cell]] = []
    for topology in watched["topologies"]:
        budgets = {
            case[2]: _mean_budget(of) for case, of in cases(watched) if case[:2] == (topology, PUSH) and of[0]["traced"]
        }
        most = max(budgets, default=0)
        for part in sorted(
            {part for budget in budgets.values() for part in budget}, key=lambda part: -budgets[most].get(part, 0)
        ):
            means = [number(budgets[count].get(part, 0.0)) if count in budgets else words("") for count in counts]
            rows.append([words(topology), words(part), words(group_of(part)), *means])
        if budgets:
            sums = [number(sum(budgets[count].values())) if count in budgets else words("") for count in counts]
            rows.append([words(topology), words("adds up to"), words(""), *sums])
    columns = [Column(name, numeric=False) for name in ("topology", "part", "group")]
    columns += [Column(f"{count:,} watchers", "ms") for count in counts]
    caption = "Mean hop budgets of traced updates over streams, by number of watchers"
    return Table("budget", caption, columns, rows, heads=2)


def _mean_budget(of: Sequence[Waited]) -> dict[str, float]:
    weights = [one["traced"] for one in of]
    parts = {part for one in of for part in one["budget_ms"]}
    return {part: float(np.average([one["budget_ms"].get(part, 0.0) for one in of], weights=weights)) for part in parts}


def conclusions(watched: Watched) -> Iterator[str]:
    """Describes which numbers of watchers were too many, and at which interval polling costs as much as a stream."""
    cores, seen = cores_of(watched), dict(cases(watched))
    for (topology, way, count), of in seen.items():
        if not holds(of):
            failed = sum(one["failed"] for one in of) / max(sum(one["journeys"] for one in of), 1)
            who = f"who poll every {watched['interval_s']:g} s" if way == POLL else "with a stream each"
            beyond = f"{share(failed, 0)} of journeys failed"
            yield f"In {topology}, {count:,} customers {who} are more than it holds: {beyond}."
    for topology in watched["topologies"]:
        counts = watched["counts"][1:]
        held = [count for count in counts if all(holds(seen.get((topology, way, count), [])) for way in WAYS)]
        if not held:
            continue
        most = held[-1]
        push, poll = (each(seen[topology, way, most], cores) for way in WAYS)
        late = {way: float(each(seen[topology, way, most], _lateness("p50")).mean()) for way in WAYS}
        text = (
            f"In {topology}, {most:,} customers who poll every {watched['interval_s']:g} s learn of a change "
            f"{late[POLL] / 1_000:.1f} s after it in the median, and those with a stream {late[PUSH]:.0f} ms after it. "
            f"For a thousand of them, polling takes {plain(poll.mean())} cores, and streams take {plain(push.mean())}"
        )
        low, _ = over_blocks(push).ends or (None, None)
        if low is None:
            yield f"{text}; the difference was {not_tested(['needs 2 blocks, and there is 1'])}."
        elif low > 0:
            even_s = float(f"{watched['interval_s'] * poll.mean() / push.mean():.2g}")
            yield f"{text}: polling would take as little at an interval of about {even_s:g} s."
        else:
            yield f"{text}, which this run cannot distinguish from 0."


def holds(of: Sequence[Waited]) -> bool:
    """Whether no journey failed, no update was missed, and updates came in every block."""
    return bool(of) and not any(one["failed"] or one["missed"] or not one["updates"] for one in of)


def cores_of(watched: Watched) -> Callable[[Waited], float]:
    """Returns a function that gives the additional cores for a thousand watchers."""
    return _more(watched, lambda one: sum(one["cpu_s"].values()) / one["seconds"])


def memory_of(watched: Watched) -> Callable[[Waited], float]:
    """Returns a function that gives the shop's additional memory for a thousand watchers, in MiB."""
    return _more(watched, lambda one: sum(one["memory_mb"].values()))


def _more(watched: Watched, used: Callable[[Waited], float]) -> Callable[[Waited], float]:
    return lambda one: (used(one) - used(_alone(watched, one))) * THOUSAND / one["watchers"]


def bytes_of(one: Waited) -> float:
    """Computes the traffic of one watcher's connection in an hour, in KiB."""
    return one["bytes"] / 1_024 / one["watchers"] / one["open_s"] * HOUR_S


def _alone(watched: Watched, one: Waited) -> Waited:
    alone = (other for other in watched["waited"] if not other["watchers"])
    return next(other for other in alone if (other["block"], other["topology"]) == (one["block"], one["topology"]))


def cases(watched: Watched) -> Iterator[tuple[Case, list[Waited]]]:
    """Groups the results by topology, way and number of watchers except 0; a group has a result for each block."""
    for topology in watched["topologies"]:
        for way in watched["ways"]:
            for count in filter(None, watched["counts"]):
                case = topology, way, count
                seen = [one for one in watched["waited"] if (one["topology"], one["way"], one["watchers"]) == case]
                if seen:
                    yield case, seen


def how(of: Sequence[Waited], way: str) -> str:
    """Describes a way to wait, with its protocol."""
    return f"{of[0]['protocol'].partition('-')[0]} {WAYS[way]}"


def _lateness(name: str) -> Callable[[Waited], float]:
    return lambda one: one["lateness_ms"].get(name, float("nan"))


def each(of: Sequence[Waited], figure: Callable[[Waited], float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Computes a figure for each block."""
    return np.array([figure(one) for one in of])
