"""Who waits behind whom."""

from __future__ import annotations

from hops.elements import numbers
from hops.elements.element import Element, Fold, Text
from hops.elements.table import Cell, Column, Table, estimate, number, whole, words
from hops.run.documents.meeting import Meeting
from hops.tables.view import SummaryView
from hops.units import ALL


def meetings_elements(view: SummaryView) -> list[Element]:
    """What arriving while a kind of journey is under way costs all journeys where it is shown; then every other one."""
    meetings = view.summary.get("meetings", [])
    overall = [row for row in meetings if row["journey"] == ALL]
    dear = [row for row in overall if is_shown(row) and row["mean_ms"] > 0]
    of_each = [row for row in meetings if row["journey"] != ALL and is_shown(row)]
    caption = "What it costs to arrive while a journey of this kind is under way"
    shown = _table("meetings", f"{caption}, where that is shown", dear, view)
    tables = [
        _table("meetings_all", f"{caption}, shown or not", overall, view),
        _table("meetings_of_each", "The same for each kind of journey, where it is shown", of_each, view),
    ]
    first = shown if dear else Text("No kind of journey is shown to make those wait that arrive beside it.")
    return [first, Fold("Every kind of journey", [table for table in tables if table.rows])]


def is_shown(row: Meeting) -> bool:
    """Whether a meeting costs something beyond doubt."""
    low, high = row["more"]["ci95"]
    return low is not None and high is not None and not low <= 0 <= high


def _table(name: str, title: str, meetings: list[Meeting], view: SummaryView) -> Table:
    columns = [Column("topology", numeric=False), Column("who arrives", numeric=False)]
    columns += [Column("meets", numeric=False), Column("meetings"), Column("share", "%")]
    columns += [Column("takes longer by", "ms", interval=True), Column("adds to the mean", "ms")]
    rows = [
        [
            view.name(row["topology"]),
            words(row["journey"]),
            words(row["met"]),
            whole(row["meetings"]),
            Cell(numbers.share(row["share"]), row["share"]),
            estimate(row["more"]["value"], row["more"]["ci95"], signed=True),
            number(row["mean_ms"]),
        ]
        for row in meetings
    ]
    return Table(name, view.titled(title), columns, rows, heads=3)
