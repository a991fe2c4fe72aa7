"""What ran at the same time as slow journeys."""

from __future__ import annotations

from hops.analysis.meetings import METRICS, MIN_MEETINGS
from hops.conclusions.wording import excludes_zero
from hops.elements.element import Element, Fold, Text
from hops.elements.table import Column, Table, number, percent, whole, words
from hops.run.documents.meeting import Meeting, Queue
from hops.tables.estimate import estimate_cell
from hops.tables.view import SummaryView
from hops.units import ALL

MIN_QUEUE_SHARE = 0.02
"""Minimum share of a topology's mean or p99 that waiting for a component must make up to be in the table."""
MIN_OF_QUEUE = 0.25
"""Minimum share of the wait for a component that must coincide with a kind of journey for it to get a row."""


def meetings_elements(view: SummaryView) -> list[Element]:
    """Shows how much longer journeys took while another kind of journey ran; kinds with a shown effect come first."""
    meetings = view.summary.get("meetings", [])
    overall = [row for row in meetings if row["journey"] == ALL]
    dear = [row for row in overall if is_shown(row) and row["mean_ms"] > 0]
    of_each = [row for row in meetings if row["journey"] != ALL and is_shown(row)]
    caption = "How much longer journeys took that ran at the same time as one of this kind"
    shown = _table("meetings", f"{caption}, where that is shown", dear, view)
    tables = [
        _table("meetings_all", f"{caption}, shown or not", overall, view),
        _table("meetings_of_each", "The same for each kind of journey, where it is shown", of_each, view),
    ]
    if dear:
        first: Element = shown
    elif overall:
        first = Text("No kind of journey is shown to run at the same time as slower journeys.")
    else:
        first = Text(
            f"This was not tested: a test needs {MIN_MEETINGS} journeys that ran at the same time as a journey of one "
            f"kind, and {MIN_MEETINGS} that did not."
        )
    return [first, Fold("Every kind of journey", [table for table in tables if table.rows])]


def is_shown(row: Meeting) -> bool:
    """Whether journeys that met this kind are shown to take longer or shorter, on average or at a percentile."""
    return any(excludes_zero(one["ci95"]) for one in (row["more"], *row["percentiles"].values()))


def queues_table(view: SummaryView) -> Table | None:
    """Shows for which components journeys waited, and what ran at the same time; None if no wait matters."""
    columns = [Column(view.compared.one, numeric=False), Column("waiting for", numeric=False)]
    columns += [Column("at the same time as", numeric=False), Column("of the time", "%")]
    columns += [Column("mean", "ms"), Column("above p99", "ms"), Column("traces above p99")]
    rows = [
        [
            view.name(row["topology"]),
            words(row["component"]),
            words("any kind" if row["met"] == ALL else row["met"]),
            percent(row["share"]),
            number(row["mean_ms"]),
            number(row["beyond_p99_ms"]),
            whole(row["beyond_p99"]),
        ]
        for row in _select_waits(view)
    ]
    title = "How long a traced journey's calls waited for a busy component, by what ran at the same time"
    return Table("queues", view.mark_caption(title), columns, rows, heads=3) if rows else None


def _select_waits(view: SummaryView) -> list[Queue]:
    """Selects the waits that matter, and for each wait the kinds of journeys that ran during much of it."""
    queues = view.summary.get("queues", [])
    waits = {(row["topology"], row["component"]): row for row in queues if row["met"] == ALL}
    rows = []
    for row in queues:
        wait = waits[row["topology"], row["component"]]
        latency = view.summary["topologies"][row["topology"]]["journeys"][ALL]["latency_ms"]
        figures = [
            (row["mean_ms"], wait["mean_ms"], latency["mean"]),
            (row["beyond_p99_ms"] or 0.0, wait["beyond_p99_ms"] or 0.0, latency["p99"]),
        ]
        if any(
            whole and of_wait >= MIN_QUEUE_SHARE * whole and of_kind >= MIN_OF_QUEUE * of_wait
            for of_kind, of_wait, whole in figures
        ):
            rows.append(row)
    return rows


def _table(name: str, title: str, meetings: list[Meeting], view: SummaryView) -> Table:
    columns = [Column(view.compared.one, numeric=False), Column("journey", numeric=False)]
    columns += [Column("at the same time as", numeric=False), Column("journeys"), Column("share", "%")]
    columns += [Column(f"{name} longer by", "ms", interval=True) for name in ("mean", *METRICS)]
    columns += [Column("of the mean", "ms"), Column("share above p99", "%")]
    rows = [
        [
            view.name(row["topology"]),
            words(row["journey"]),
            words(row["met"]),
            whole(row["meetings"]),
            percent(row["share"]),
            *(estimate_cell(one, signed=True) for one in (row["more"], *map(row["percentiles"].get, METRICS))),
            number(row["mean_ms"]),
            percent(row["beyond_p99"]),
        ]
        for row in meetings
    ]
    return Table(name, view.mark_caption(title), columns, rows, heads=3)
