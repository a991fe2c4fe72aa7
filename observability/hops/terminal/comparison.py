"""A comparison of topologies for a terminal, 80 columns and wider; nothing is told by colour alone."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hops.conclusions.conclusions import Conclusions, grouped_conclusions
from hops.conclusions.notes import suspects_by_trial
from hops.conclusions.wording import LEAST_P, decimals_for
from hops.gates.words import gate_text
from hops.run.documents import Comparison, JourneySummary, Summary, TopologySummary
from hops.terminal.bench import closed_line, milliseconds, observer_line
from hops.terminal.gates import gates_table
from hops.terminal.tables import NOTHING, marked, table_titled
from hops.units import ALL

#: Pairs in the table of differences; the report has all.
MOST_PAIRS = 24
#: Of a terminal.
LEAST_WIDTH = 80
_METRICS = ("p50", "p99")


def compare(summary: Summary) -> Group:
    """Everything that a comparison shows: conclusions, latencies, differences, cost, gates.

    Args:
        summary: as of `summary.json`.
    """
    closed = summary["closed"]
    return Group(
        *([] if closed is None else [closed_line(closed), Text()]),
        conclusions_view(grouped_conclusions(summary)),
        *(latencies_table(summary, metric) for metric in _METRICS),
        differences_table(summary),
        cost_table(summary),
        observer_line(summary["observer_effect_ms"]),
        Text(),
        gates_table(summary["gates"], summary["gates_left_out"]),
        suspects_view(summary),
    )


def conclusions_view(found: Conclusions) -> Group:
    """The conclusions under a heading for each journey."""
    lines: list[RenderableType] = [Text("Conclusions", style="bold"), *_points(found.headline)]
    for journey, texts in found.journeys.items():
        lines += [Text(), Text(journey, style="bold"), *_points(texts)]
    for title, texts in (("cost", found.cost), ("not shown", found.doubts), ("validity", found.validity)):
        if texts:
            lines += [Text(), Text(title, style="bold"), *_points(texts)]
    return Group(*lines, Text())


def latencies_table(summary: Summary, metric: str) -> Table:
    """One metric of all journeys and topologies, with intervals over blocks below the figures."""
    since = "from the intended arrival" if summary["mode"] == "open" else "from the actual start"
    table = _titled(f"Latency {since}, {metric}, ms, with 95 % intervals (lower..upper)", summary)
    table.add_column("journey", no_wrap=True)
    for name in summary["topologies"]:
        table.add_column(name, justify="right", overflow="fold")
    for journey in _journeys(summary):
        if journey == ALL:
            table.add_section()
        table.add_row(journey, *(_cell(found, journey, metric) for found in summary["topologies"].values()))
    return table


def differences_table(summary: Summary) -> RenderableType:
    """The differences that were shown, largest ratio first; those of p50 before those of p99."""
    rows = [row for row in summary["comparisons"] if row["metric"] in _METRICS and row["journey"] != ALL]
    told = [row for row in rows if row["verdict"] in ("left_lower", "right_lower")]
    if not told:
        return Text("No difference between two topologies is shown at p50 or p99 of a journey.\n")
    told.sort(key=lambda row: (_METRICS.index(row["metric"]), -_farness(row)))
    kept = [row for metric in _METRICS for row in _first(told, metric)]
    table = _titled("Differences that are shown, the largest ratios first", summary)
    table.add_column("journey", no_wrap=True)
    table.add_column("metric", no_wrap=True)
    table.add_column("left - right", overflow="fold")
    for name in ("ms", "ratio", "p (Holm)", "left first"):
        table.add_column(name, justify="right", no_wrap=True)
    last = None
    for row in kept:
        if last not in (None, row["metric"]):
            table.add_section()
        last = row["metric"]
        table.add_row(
            row["journey"],
            row["metric"],
            f"{row['left']} - {row['right']}",
            _spread(row["difference"], row["ci95"]),
            _spread(row["ratio"], row["ratio_ci95"]),
            _p(row["p_holm"]),
            NOTHING if row["effect"] is None else f"{row['effect']:.0%}",
        )
    lines = [
        f"{len(told)} of {len(rows)} differences at p50 and p99 are shown"
        + (f", the largest {len(kept)} above; all are in the report." if len(kept) < len(told) else "."),
        "left first: how often a journey of the left takes less time than one of the right; 50 % is no tendency.",
    ]
    return Group(table, *(Text(line) for line in lines), Text())


def cost_table(summary: Summary) -> RenderableType:
    """Core-hours for a million journeys by group of components, a column per topology."""
    topologies = summary["topologies"]
    groups = list(dict.fromkeys(group for found in topologies.values() for group in found["cost"]))
    if not groups:
        return Text("CPU was not measured.\n")
    groups = [*(group for group in groups if group != "total"), *(group for group in groups if group == "total")]
    table = _titled("Core-hours for a million journeys, with 95 % intervals", summary)
    table.add_column("of", no_wrap=True)
    for name in topologies:
        table.add_column(name, justify="right", overflow="fold")
    for group in groups:
        if group == "total":
            table.add_section()
        estimates = [found["cost"].get(group) for found in topologies.values()]
        cells = [NOTHING if one is None else _spread(one["value"], one["ci95"]) for one in estimates]
        table.add_row(group, *cells)
    return Group(table, Text("The total leaves out the load generator, which is no part of a shop.\n"))


def suspects_view(summary: Summary) -> Group:
    """Each suspect trial with its reasons."""
    rows = suspects_by_trial(summary)
    if not rows:
        return Group()
    lines = [
        f"SUSPECT  block {row['block']}  {row['topology']}"
        + (f", attempt {row['attempt']}" if row["attempt"] not in (None, 1) else "")
        + ("" if row["used"] else " (replaced by a later attempt)")
        + f": {'; '.join(gate_text(reason)[0] for reason in row['reasons'])}"
        for row in rows
    ]
    return Group(Text(), *(Text(line) for line in lines))


def _titled(title: str, summary: Summary) -> Table:
    table = table_titled(marked(title, summary["mode"]))
    # Two topologies make a narrow table, and its title would be broken to fit.
    table.min_width = min(len(str(table.title)), LEAST_WIDTH)
    return table


def _points(texts: Sequence[str]) -> list[RenderableType]:
    return [_Point(text) for text in texts]


class _Point:
    """A sentence behind a dash, its further lines indented."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __rich__(self) -> Table:
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_column(width=1)
        grid.add_column(overflow="fold")
        grid.add_row(Text("-"), Text(self._text))
        return grid


def _journeys(summary: Summary) -> list[str]:
    names = {name for found in summary["topologies"].values() for name in found["journeys"]}
    return [*sorted(names - {ALL}), ALL]


def _cell(found: TopologySummary, journey: str, metric: str) -> str:
    cell: JourneySummary | None = found["journeys"].get(journey)
    if cell is None:
        return NOTHING
    low, high = cell["latency_ci95"].get(metric, [None, None])
    ends = "" if low is None and high is None else f"{_end(low)}..{_end(high)}"
    return f"{milliseconds(cell['latency_ms'][metric])}\n{ends}"


def _end(value: float | None) -> str:
    return "" if value is None else milliseconds(value)


def _first(rows: Sequence[Comparison], metric: str) -> list[Comparison]:
    return [row for row in rows if row["metric"] == metric][: MOST_PAIRS // len(_METRICS)]


def _farness(row: Comparison) -> float:
    ratio = row["ratio"]
    return 0.0 if not ratio else max(ratio, 1 / ratio)


def _spread(value: float | None, ends: Sequence[float | None]) -> str:
    if value is None:
        return NOTHING
    known = [end for end in ends if end is not None]
    places = decimals_for([value, *known]) if abs(value) < 1 or abs(value) >= 100 else 2 if abs(value) < 10 else 1
    if not known:
        return f"{value:,.{places}f}"
    low, high = ("" if end is None else f"{end:,.{places}f}" for end in ends)
    return f"{value:,.{places}f}\n{low}..{high}"


def _p(value: float | None) -> str:
    return NOTHING if value is None else f"<{LEAST_P}" if value < LEAST_P else f"{value:.3f}"
