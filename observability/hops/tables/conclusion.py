"""What the run shows: in sentences, and which topology is the fastest in which journey."""

from __future__ import annotations

from hops.analysis.either_order import Pairs, value_of
from hops.conclusions.comparison import Standing, explain_refusal, grouped_conclusions, standing
from hops.conclusions.wording import join_names, negate_interval
from hops.elements import numbers
from hops.elements.element import Element, Fold, Points, Text
from hops.elements.table import Cell, Column, Table, estimate, number, words
from hops.tables.view import SummaryView

METRICS = {"p50": "median", "p99": "p99"}
FASTEST = "fastest"
"""Key of the table of the fastest topologies."""


def conclusion_elements(view: SummaryView) -> list[Element]:
    """Shows the conclusions: a sentence, the table of the fastest, a few more sentences, and the rest in folds."""
    conclusions = grouped_conclusions(view.summary)
    elements: list[Element] = [Points(conclusions.headline, tone="conclusions")]
    if not view.is_alone:
        elements.append(fastest_table(view))
    if not view.is_alone and explain_refusal(view.summary) is None:
        elements.append(
            Text(
                f"Names that share a cell are not distinguishable. “Ahead” is the lead over the nearest "
                f"{view.compared.one} that is shown to be slower.",
                tone="note",
            )
        )
    elements.append(Points(conclusions.context, tone="sentences"))
    inside = [sentence for sentences in conclusions.journeys.values() for sentence in sentences]
    shown = "A difference counts as shown if p is below 5 % after correction for the many comparisons of this run."
    doubts = conclusions.doubts if view.is_alone else [shown, *conclusions.doubts]
    folds = (
        Fold("The whole mix and its reasons, in words", [Points(conclusions.mix, tone="sentences")], brief=True),
        Fold("Journey by journey, in words", [Points(inside, tone="sentences")]),
        Fold("What it costs, in words", [Points(conclusions.cost, tone="sentences")]),
        Fold("What to know about the run", [Points([*doubts, *conclusions.validity], tone="sentences")]),
    )
    return [*elements, *(fold for fold in folds if any(one.items for one in fold.elements if isinstance(one, Points)))]


def fastest_table(view: SummaryView) -> Table:
    """Lists for each journey the fastest topology at the median and at p99, and how far it is ahead."""
    columns = [Column("journey", numeric=False)]
    for spare, name in enumerate(METRICS.values()):
        columns += [
            Column(f"fastest, {name}", numeric=False, spare=spare),
            Column(name, "ms", spare=spare),
            Column("ahead", "ms", interval=True, spare=spare),
            Column("of", numeric=False, spare=spare),
        ]
    pairs = Pairs(view.summary)
    rows = []
    for journey in view.journeys_and_all:
        row = [words(journey)]
        for metric in METRICS:
            place = standing(pairs, journey, metric)
            value = None if place is None else value_of(view.summary, place.first[0], journey, metric)
            row += _cells(view, place, value)
        rows.append(row)
    caption = f"Fastest {view.compared.one} for each journey, at the median and at p99"
    return Table(FASTEST, caption, columns, rows, totals=1)


def _cells(view: SummaryView, place: Standing | None, value: float | None) -> list[Cell]:
    nobody = [estimate(None, (None, None)), words(numbers.NOTHING)]
    if place is None:
        return [words(numbers.NOTHING), number(None), *nobody]
    if place.untested:
        return [words("not tested"), number(value), *nobody]
    first = words("none shown") if len(place.first) == len(view.topologies) else words(join_names(place.first, "or"))
    if len(place.first) == 1:
        first = view.name(place.first[0])
    if not place.behind:
        return [first, number(value), *nobody]
    row = place.behind[0]
    assert row["difference"] is not None
    return [first, number(value), estimate(-row["difference"], negate_interval(row["ci95"])), view.name(row["right"])]
