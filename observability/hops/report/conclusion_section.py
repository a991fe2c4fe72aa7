"""What the run says: in sentences, then who is quickest for which journey."""

from __future__ import annotations

from dataclasses import dataclass

from hops.bands import ALL
from hops.conclusions import conclusions
from hops.report.blocks import Block, Points, Section, Text
from hops.report.table import Cell, Column, Table, estimate, number, words
from hops.report.view import Beside, View

METRICS = {"p50": "median", "p99": "p99"}


@dataclass(frozen=True, slots=True)
class Lead:
    """Who is quickest in one metric of one journey.

    Args:
        first: those that no difference was shown between, by their value.
        value: of the quickest.
        behind: the next one that is shown to be slower; None if there is none.
        by: how the quickest compares with it.
    """

    first: list[str]
    value: float
    behind: str | None
    by: Beside | None


def section(view: View) -> Section:
    """Makes the section."""
    blocks: list[Block] = [Points(conclusions(view.summary), tone="conclusions")]
    if view.why_alone:
        blocks.append(Text(view.why_alone, tone="note"))
    else:
        blocks.append(quickest_table(view))
        blocks.append(
            Text(
                "Several names in one cell: no difference was shown between them. “Ahead” is how much later the next "
                "topology is that is shown to be slower, with its 95 % interval over blocks; shown means p below 5 % after "
                "Holm's correction for all comparisons of this run.",
                tone="note",
            )
        )
    return Section("conclusions", "What this run says", blocks)


def quickest_table(view: View) -> Table:
    """For each journey, who is quickest at the median and at p99, and how far ahead."""
    columns = [Column("journey", numeric=False)]
    for name in METRICS.values():
        columns += [
            Column(f"quickest, {name}", numeric=False),
            Column(name, "ms"),
            Column(f"ahead, {name}", "ms", interval=True),
            Column(f"of, {name}", numeric=False),
        ]
    rows = []
    for journey in view.journeys_and_all:
        row = [words(journey)]
        for metric in METRICS:
            row += _lead_cells(view, lead(view, journey, metric))
        rows.append(row)
    return Table("quickest", "Quickest topology for each journey", columns, rows, totals=1)


def lead(view: View, journey: str, metric: str) -> Lead | None:
    """Finds who is quickest; None if nothing was measured.

    Args:
        view: of the run.
        journey: its name, or `all`.
        metric: of the latency.
    """
    values = {
        look.name: value for look, cell in view.cells(journey) if (value := cell["latency_ms"].get(metric)) is not None
    }
    if not values:
        return None
    order = sorted(values, key=lambda name: values[name])
    first, behind, by = [order[0]], None, None
    for name in order[1:]:
        found = view.compared(journey, metric, name, order[0])
        if found is not None and found.verdict == "higher":
            if behind is None:
                behind, by = name, found
        else:
            first.append(name)
    return Lead(first, values[order[0]], behind, by)


def _lead_cells(view: View, found: Lead | None) -> list[Cell]:
    if found is None:
        return [words("–"), number(None), estimate(None, (None, None)), words("–")]
    names = " or ".join(found.first) if len(found.first) < len(view.looks) else "none shown"
    tone = f"mark t{view.topologies.index(found.first[0]) % 8}" if len(found.first) == 1 else ""
    if found.by is None or found.behind is None:
        return [words(names, tone), number(found.value), estimate(None, (None, None)), words("–")]
    return [
        words(names, tone),
        number(found.value),
        estimate(found.by.difference, found.by.ends),
        words(found.behind, f"mark t{view.topologies.index(found.behind) % 8}"),
    ]


def headline(view: View) -> str:
    """The whole load in a line, for the top of the page."""
    found = lead(view, ALL, "p50")
    return "" if found is None else " or ".join(found.first)
