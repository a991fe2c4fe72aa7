"""What the run says: in sentences, and who is quickest for which journey."""

from __future__ import annotations

from hops.analysis.pairs import Pairs, value_of
from hops.conclusions.conclusions import Standing, grouped_conclusions, standing
from hops.elements.element import Element, Fold, Points, Section, Text
from hops.elements.table import Cell, Column, Table, estimate, number, words
from hops.report.view import View

METRICS = {"p50": "median", "p99": "p99"}


def section(view: View) -> Section:
    """Makes the section."""
    found = grouped_conclusions(view.summary)
    elements: list[Element] = [Points(found.headline, tone="conclusions")]
    if view.why_alone:
        elements.append(Text(view.why_alone, tone="note"))
    else:
        elements.append(quickest_table(view))
        elements.append(
            Text(
                "Several names in one cell: no difference was shown between them. “Ahead” is how much later the next "
                "topology is that is shown to be slower, with its 95 % interval over blocks. Shown means: p below 5 % "
                "after Holm's correction for the many comparisons of this run.",
                tone="note",
            )
        )
    inside = [sentence for sentences in found.journeys.values() for sentence in sentences]
    if inside:
        elements.append(Fold("Journey by journey, in words", [Points(inside, tone="sentences")], opened=True))
    if found.cost:
        elements.append(Fold("What it costs, in words", [Points(found.cost, tone="sentences")], opened=True))
    elements.append(Points([*found.doubts, *found.validity], tone="note"))
    return Section("conclusions", "What this run says", elements)


def quickest_table(view: View) -> Table:
    """For each journey, who is quickest at the median and at p99, and how far ahead."""
    columns = [Column("journey", numeric=False)]
    for name in METRICS.values():
        columns += [
            Column(f"quickest, {name}", numeric=False),
            Column(name, "ms"),
            Column("ahead", "ms", interval=True),
            Column("of", numeric=False),
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
    return Table("quickest", "Quickest topology for each journey, at the median and at p99", columns, rows, totals=1)


def _cells(view: View, place: Standing | None, value: float | None) -> list[Cell]:
    nobody = [estimate(None, (None, None)), words("–")]
    if place is None:
        return [words("–"), number(None), *nobody]
    if place.untested:
        return [words("not tested"), number(value), *nobody]
    first = words("none shown") if len(place.first) == len(view.looks) else words(" or ".join(place.first))
    if len(place.first) == 1:
        first = words(place.first[0], view.mark(place.first[0]))
    if not place.behind:
        return [first, number(value), *nobody]
    row = place.behind[0]
    low, high = row["ci95"]
    ahead = estimate(_turned(row["difference"]), (_turned(high), _turned(low)))
    return [first, number(value), ahead, words(row["right"], view.mark(row["right"]))]


def _turned(value: float | None) -> float | None:
    return None if value is None else -value
