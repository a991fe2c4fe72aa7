"""The main figures of a bench or a comparison on a terminal, in a few lines; the report has the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from hops.conclusions.comparison import grouped_conclusions
from hops.conclusions.notes import switch_sentences, verdict_sentence
from hops.conclusions.wording import plural, programs_text
from hops.elements import numbers
from hops.elements.table import Cell, Column, Table, number, whole, words
from hops.gates.limits import gate_failure, kind_of
from hops.run.documents.gate import Gate
from hops.run.documents.summary import Summary
from hops.tables.budget import MEAN, P99_BAND, band_name, by_group, parts_cell
from hops.tables.conclusion import fastest_table
from hops.tables.latency import percentile
from hops.tables.view import SummaryView
from hops.units import ALL

MAX_JOURNEYS = 9
MAX_PARTS = 6
MAX_TOPOLOGIES = 5
MAX_FAILURES = 3
"""Maximum number of journeys, parts, topologies and failures to show; the report has all of them."""


def brief(summary: Summary) -> Group:
    """Shows the verdict, the answer in a sentence, latencies, the budget of the mix, and failing gates."""
    view = SummaryView(summary)
    tables = (part for table in _tables(view) for part in _compact(table))
    return Group(*_sentences(view), *tables, *map(Text, _failing(summary)))


def _sentences(view: SummaryView) -> Iterator[Text]:
    yield Text(verdict_sentence(view.summary), "bold")
    yield from map(Text, [*switch_sentences(view.summary), *grouped_conclusions(view.summary).headline])


def _tables(view: SummaryView) -> Iterator[Table]:
    if len(view.topologies) == 1:
        (name,) = view.topologies
        journeys = [*view.journeys[:MAX_JOURNEYS], ALL]
        left_out = len(view.journeys) - MAX_JOURNEYS
        more = f" ({left_out} journeys are in the report)" if left_out > 0 else ""
        yield _latencies(view, f"Latency, ms, with 95 % intervals{more}", [(one, name, one) for one in journeys])
        yield from _parts(view, name)
        return
    names = view.topologies[:MAX_TOPOLOGIES]
    left_out = len(view.topologies) - MAX_TOPOLOGIES
    more = f" ({left_out} {view.compared.many} are in the report)" if left_out > 0 else ""
    caption = f"Latency of the mix, ms, with 95 % intervals{more}"
    yield _latencies(view, caption, [(name, name, ALL) for name in names])
    if not view.is_alone and len(view.journeys) <= MAX_JOURNEYS:
        table = fastest_table(view)
        kept = [at for at, column in enumerate(table.columns) if not column.spare]
        rows = [[row[at] for at in kept] for row in table.rows[: len(view.journeys)]]
        caption = view.mark_caption(f"Fastest {view.compared.one} for each journey at the median, ms")
        columns = [table.columns[at] for at in kept]
        yield replace(table, caption=caption, columns=columns, rows=rows, totals=0)
    yield from _groups(view, names)


def _latencies(view: SummaryView, caption: str, rows: Iterable[tuple[str, str, str]]) -> Table:
    columns = [Column("", numeric=False), Column("journeys"), Column("p50"), Column("p99"), Column("failed")]
    cells = [
        [
            words(title),
            whole(cell["count"]),
            percentile(cell, "p50"),
            percentile(cell, "p99"),
            whole(sum(cell["errors"].values())),
        ]
        for title, name, journey in rows
        if (cell := view.cell(name, journey)) is not None
    ]
    return Table("latency", view.mark_caption(caption), columns, cells)


def _parts(view: SummaryView, name: str) -> Iterator[Table]:
    cell = view.cell(name, ALL)
    if cell is None or not cell["traces"]:
        return
    mean, tail = (cell["budget_ms"].get(band, {}) for band in (MEAN, P99_BAND))
    total = sum(mean.values()) or 1.0
    lines = _largest({part: mean[part] for part in sorted(mean)}, "part")
    rows = [[words(title), *_amounts(mean, tail, parts, total)] for title, parts in lines]
    rows.append([words("adds up to"), number(total), words(""), number(sum(tail.values()))])
    columns = [Column("", numeric=False), Column(MEAN), Column("share"), Column(band_name(P99_BAND, cell["traces"]))]
    yield Table("budget", view.mark_caption("Hop budget of the mix, ms"), columns, rows)


def _amounts(mean: Mapping[str, float], tail: Mapping[str, float], parts: list[str], total: float) -> list[Cell]:
    of_mean = parts_cell(mean, parts, bar=False)
    share = Cell(numbers.share(sum(mean.get(part, 0.0) for part in parts) / total))
    return [of_mean, share, parts_cell(tail, parts, bar=False)]


def _groups(view: SummaryView, names: Sequence[str]) -> Iterator[Table]:
    cells = [(name, view.cell(name, ALL)) for name in names]
    budgets = {name: by_group(cell["budget_ms"].get(MEAN, {})) for name, cell in cells if cell and cell["traces"]}
    if not budgets:
        return
    largest = {group: max(of.get(group, 0.0) for of in budgets.values()) for of in budgets.values() for group in of}
    lines = _largest(largest, "group")
    rows = [[words(title), *(parts_cell(of, groups, bar=False) for of in budgets.values())] for title, groups in lines]
    rows.append([words("adds up to"), *(number(sum(of.values())) for of in budgets.values())])
    columns = [Column("", numeric=False), *map(Column, budgets)]
    yield Table("budget", view.mark_caption("Hop budget of the mix by group, means, ms"), columns, rows)


def _largest(amounts: Mapping[str, float], noun: str) -> list[tuple[str, list[str]]]:
    """Gives the title and the name of the largest amounts, and one title for the names of all others."""
    names = sorted(amounts, key=lambda name: -amounts[name])
    rest = names[MAX_PARTS:]
    lines = [(name, [name]) for name in names[:MAX_PARTS]]
    return [*lines, (plural(len(rest), f"smaller {noun}"), rest)] if rest else lines


def _failing(summary: Summary) -> Iterator[str]:
    failing = [gate for gate in summary["gates"] if not gate["ok"]]
    yield from (_failure(summary, gate) for gate in failing)
    for row in summary.get("failures", [])[:MAX_FAILURES]:
        counted = f"{row['count']:,} {row['outcome'].replace('_', ' ')}"
        yield f"- {counted}, {row['topology']}, {row['journey']}: {row['reason']}"
    remedies = dict.fromkeys(remedy for gate in failing if (remedy := kind_of(gate["name"]).remedy))
    yield from (f"To do: {remedy}" for remedy in remedies)


def _failure(summary: Summary, gate: Gate) -> str:
    programs = summary.get("programs", []) if gate["name"] == "other_cores" else []
    by = f": {programs_text(programs)}" if programs else ""
    return f"- {kind_of(gate['name']).fails}: {gate_failure(gate)}{by}."


def _compact(table: Table) -> Iterator[RenderableType]:
    """Prints a table without rules and blank lines, each interval after its figure."""
    drawn = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in table.columns:
        drawn.add_column(Text(column.name, "bold"), justify="right" if column.numeric else "left", overflow="fold")
    for row in table.rows:
        texts = (f"{cell.text} ({cell.interval})" if cell.interval else cell.text for cell in row)
        drawn.add_row(*map(Text, texts))
    yield Text()
    yield Text(table.caption, "bold")
    yield drawn
