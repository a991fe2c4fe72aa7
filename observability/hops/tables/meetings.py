"""Who waits behind whom."""

from __future__ import annotations

from hops.elements import numbers
from hops.elements.table import Cell, Column, Table, estimate, number, whole, words
from hops.run.documents.meeting import Meeting
from hops.tables.view import SummaryView
from hops.units import ALL


def meetings_tables(view: SummaryView) -> list[Table]:
    """What arriving while a kind of journey is under way costs all journeys, and what it costs each kind."""
    meetings = view.summary.get("meetings", [])
    overall = [row for row in meetings if row["journey"] == ALL]
    of_each = [row for row in meetings if row["journey"] != ALL and is_shown(row)]
    tables = [
        _table("meetings", "What it costs to arrive while a journey of this kind is under way", overall, view),
        _table("meetings_of_each", "The same for each kind of journey, where it is shown", of_each, view),
    ]
    return [table for table in tables if table.rows]


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
