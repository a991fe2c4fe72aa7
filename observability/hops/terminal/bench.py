"""A summary as tables for a terminal, 80 columns and wider; nothing is told by colour alone."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hops.budget.budget import UNATTRIBUTED
from hops.run.delay_notice import delay_notice
from hops.run.documents import ClosedLoop, JourneySummary, Mode, ObserverEffect, Summary, TopologySummary
from hops.terminal.bytes import bytes_table, wire_line
from hops.terminal.gates import gates_table
from hops.terminal.tables import NOTHING, all_last, marked, table_titled
from hops.units import ALL

BAR_CELLS = 10
# Of the tables for single journeys: smaller parts share a row, so that eight tables stay readable.
LEAST_SHARE = 0.01


def bench(summary: Summary, topology: str) -> Group:
    """Everything that a run of one topology shows: latencies, bytes, budgets, observer effect, gates.

    Args:
        summary: as of `summary.json`.
        topology: one of its topologies.
    """
    found, mode, closed = summary["topologies"][topology], summary["mode"], summary["closed"]
    delayed = delay_notice(summary["switches"])
    return Group(
        *([Text(delayed, style="bold"), Text()] if delayed else []),
        *([] if closed is None else [closed_line(closed), Text()]),
        latency_table(found, mode),
        bytes_table(found, mode),
        wire_line(found["wire"]),
        Text(),
        budget_tables(found, mode),
        observer_line(summary["observer_effect_ms"]),
        Text(),
        gates_table(summary["gates"], summary["gates_left_out"]),
    )


def closed_line(closed: ClosedLoop) -> Text:
    """What a closed loop was, and what that means for its latencies."""
    users = "1 virtual user" if closed["vus"] == 1 else f"{closed['vus']:,} virtual users"
    return Text(
        f"CLOSED LOOP: {users}, {closed['think_s']:g} s between an answer and the next journey. A slow shop gets less "
        "load that way: these latencies do not compare with those of an open loop.",
        style="bold",
    )


def latency_table(topology: TopologySummary, mode: Mode = "open") -> Table:
    """Latencies with their intervals, failures and requests, a row per journey and `all` last."""
    since = "Latency from the intended arrival" if mode == "open" else "Closed loop: latency from the actual start"
    table = table_titled(f"{since}, ms, with 95 % intervals (lower..upper)")
    table.add_column("journey", no_wrap=True)
    table.add_column("count", justify="right", no_wrap=True)
    for name in ("p50", "p90", "p99"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("failures", justify="right", min_width=8, overflow="fold")
    table.add_column("requests", justify="right", no_wrap=True)
    for journey, cell in all_last(topology):
        if journey == ALL:
            table.add_section()
        table.add_row(
            journey,
            f"{cell['count']:,}",
            *(_with_interval(cell, name) for name in ("p50", "p90", "p99")),
            _failures(cell["errors"]),
            f"{cell['requests_per_journey']:.2f}",
        )
    return table


def budget_tables(topology: TopologySummary, mode: Mode = "open") -> Group:
    """A hop budget for all journeys together, then one for each that has traces."""
    journeys = topology["journeys"]
    names = [ALL, *sorted(name for name in journeys if name != ALL)]
    return Group(
        *(budget_table(name, journeys[name], mode, least_share=0.0 if name == ALL else LEAST_SHARE) for name in names)
    )


def budget_table(
    journey: str, cell: JourneySummary, mode: Mode = "open", *, least_share: float = 0.0
) -> RenderableType:
    """One hop budget: parts by mean, largest first, with the p50 and p99 bands beside and the sum below.

    Args:
        journey: for the title.
        cell: of the summary.
        mode: of the loop.
        least_share: of the mean, 0 to 1; parts with less share one row. Unattributed time keeps its own.
    """
    if not cell["traces"]:
        return Text(marked(f"Hop budget of {journey}: no traces\n", mode))
    bands = cell["budget_ms"]
    mean, around_p50, above_p99 = bands["mean"], bands["p50_band"], bands["p99_band"]
    table = table_titled(marked(f"Hop budget of {journey}, ms, mean of {cell['traces']:,} traces", mode))
    table.add_column("part", overflow="fold")
    table.add_column("mean", justify="right", no_wrap=True)
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True, min_width=BAR_CELLS)
    table.add_column("p50 band", justify="right", no_wrap=True)
    table.add_column("p99 band", justify="right", no_wrap=True)
    total = sum(mean.values())
    rows = [
        (part, mean.get(part, 0.0), around_p50.get(part, 0.0), above_p99.get(part, 0.0))
        for part in dict.fromkeys((*mean, *around_p50, *above_p99))
    ]
    rows.sort(key=lambda row: (-row[1], row[0]))
    large = [row for row in rows if row[1] >= least_share * total or row[0] == UNATTRIBUTED]
    small = [row for row in rows if row not in large]
    if len(small) > 1:
        rows = [
            *large,
            (
                f"{len(small)} smaller parts",
                sum(row[1] for row in small),
                sum(row[2] for row in small),
                sum(row[3] for row in small),
            ),
        ]
    largest = rows[0][1] if rows else 0.0
    for part, value, p50, p99 in rows:
        share = value / total if total else 0.0
        bar = _bar(value / largest if largest else 0.0)
        table.add_row(part, milliseconds(value), f"{share:.1%}", bar, milliseconds(p50), milliseconds(p99))
    table.add_section()
    table.add_row(
        "adds up to",
        milliseconds(total),
        f"{1:.1%}",
        "",
        milliseconds(sum(around_p50.values())),
        milliseconds(sum(above_p99.values())),
    )
    traced = cell["traced_mean_ms"]
    line = f"The parts add up to {total:.6f} ms; the traced mean is {traced:.6f} ms.\n"
    return Group(table, Text(line))


def one_budget_table(title: str, parts_ns: Mapping[str, int], crossings: Mapping[str, int]) -> Table:
    """The hop budget of one trace, with how often each part was entered.

    Args:
        title: above the table.
        parts_ns: ns on the critical path by part.
        crossings: by part.
    """
    table = table_titled(title)
    table.add_column("part", overflow="fold")
    table.add_column("ms", justify="right", no_wrap=True)
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True, min_width=BAR_CELLS)
    table.add_column("crossings", justify="right")
    total = sum(parts_ns.values())
    largest = max(parts_ns.values(), default=0)
    names = dict.fromkeys((*parts_ns, *crossings))
    for part in sorted(names, key=lambda name: (-parts_ns.get(name, 0), name)):
        ns = parts_ns.get(part, 0)
        share = ns / total if total else 0.0
        bar = _bar(ns / largest if largest else 0.0)
        table.add_row(part, f"{ns / 1e6:.6f}", f"{share:.1%}", bar, str(crossings.get(part, 0)))
    table.add_section()
    table.add_row("adds up to", f"{total / 1e6:.6f}", f"{1:.1%}", "", "")
    return table


def observer_line(effect: ObserverEffect) -> Text:
    """What tracing cost, in a sentence."""
    value, (low, high) = effect["p50"], effect["ci95"]
    if value is None or low is None or high is None:
        return Text("Observer effect: not measured (too few sampled or unsampled journeys).")
    return Text(f"Observer effect: tracing adds {value:+.3f} ms at p50 ({low:+.3f} to {high:+.3f}).")


def milliseconds(value: float | None) -> str:
    """Three significant digits at least, never more than a microsecond's worth."""
    if value is None:
        return NOTHING
    if not value:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"


def _with_interval(cell: JourneySummary, name: str) -> str:
    low, high = cell["latency_ci95"][name]
    # A sample too small for an end leaves it open: a p99 needs 368 journeys for its upper one.
    ends = "" if low is None and high is None else f"{_end(low)}..{_end(high)}"
    return f"{milliseconds(cell['latency_ms'][name])}\n{ends}"


def _end(value: float | None) -> str:
    return "" if value is None else milliseconds(value)


def _failures(errors: Mapping[str, int]) -> str:
    some = [f"{count:,} {name.removesuffix('_answer')}" for name, count in errors.items() if count]
    return "\n".join(some) or "0"


def _bar(share: float) -> str:
    eighths = round(max(0.0, min(1.0, share)) * BAR_CELLS * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[rest]
