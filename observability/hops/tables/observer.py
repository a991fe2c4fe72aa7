"""What tracing adds to the latencies, and where."""

from __future__ import annotations

from hops.conclusions.notes import observer_sentence
from hops.conclusions.wording import excludes_zero
from hops.elements.element import Text
from hops.elements.table import Cell, Column, Table, estimate, number, words
from hops.run.documents.tracing import ObservedPlace, ObservedTopology, SpanCost
from hops.tables.view import SummaryView
from hops.units import ALL

PLACES = {"client": "client and wire", "edge": "edge", "behind": "behind the edge", ALL: "all of it"}
"""Display names of the places where tracing adds latency."""
_US_PER_MS = 1e3


def observer_text(view: SummaryView) -> Text:
    """States the cost of tracing, and whether this run can distinguish it from zero."""
    effect = view.summary["observer_effect_ms"]
    text = observer_sentence(view.summary)
    if None not in effect["ci95"] and not excludes_zero(effect["ci95"]):
        text += " The interval includes zero: the cost of tracing is too small for this run to see."
    return Text(text, tone="finding")


def observer_tables(view: SummaryView) -> list[Table]:
    """Lists what tracing adds in each topology and place, and the cost of each component's spans, as far as known."""
    topologies = view.summary["observer_effect_ms"]["topologies"]
    measured = {name: row for name, row in topologies.items() if row["p50"] is not None}
    name_column = Column(view.compared.one, numeric=False)
    place_columns = [name_column, Column("where", numeric=False), Column("adds", "ms", interval=True)]
    span_columns = [Column("per span", "µs"), Column("per journey", "ms")]
    tables = [
        Table(
            "observer",
            view.mark_caption("Added to the median latency of a traced journey"),
            [name_column, Column("adds", "ms", interval=True), Column("share", "%", interval=True)],
            [[words(name), *_effect(row)] for name, row in measured.items()],
        ),
        Table(
            "observer_places",
            view.mark_caption("Where it is added, in journeys that send one request at a time"),
            [*place_columns, Column("spans"), Column("their known cost", "ms"), Column("beyond that", "ms")],
            [[words(name), *_place(place)] for name, row in measured.items() for place in row["places"]],
            heads=2,
        ),
        Table(
            "observer_spans",
            view.mark_caption("Spans of a traced journey, and what they cost the threads that make them"),
            [name_column, Column("component", numeric=False), Column("spans"), *span_columns],
            [[words(name), *_spans(component)] for name, row in measured.items() for component in row["components"]],
            heads=2,
        ),
    ]
    return [table for table in tables if table.rows]


def _effect(row: ObservedTopology) -> list[Cell]:
    share = None if row["share"] is None else 100 * row["share"]
    ends = [None if end is None else 100 * end for end in row["share_ci95"]]
    return [estimate(row["p50"], row["ci95"], signed=True), estimate(share, ends, signed=True)]


def _place(place: ObservedPlace) -> list[Cell]:
    added, known = place["p50"], place["spans_ms"]
    return [
        words(PLACES[place["place"]]),
        estimate(added, place["ci95"], signed=True),
        number(place["spans"]),
        number(known),
        number(None if added is None or known is None else added - known, signed=True),
    ]


def _spans(row: SpanCost) -> list[Cell]:
    each = row["ms"] / row["spans"] * _US_PER_MS if row["ms"] is not None and row["spans"] else None
    return [words(row["component"]), number(row["spans"]), number(each), number(row["ms"])]
