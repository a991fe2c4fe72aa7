"""Traces of any system as one page, in the look of a run's report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from hops.analysis.of_traces.operations import Analysed, Operation
from hops.budget.bands import BANDS
from hops.budget.groups import GROUPS, group_of
from hops.conclusions.wording import plural
from hops.elements import numbers
from hops.elements.element import Chart, Drawing, Element, Figures, Fold, Points, Section, Text
from hops.report import chart
from hops.report.encodings import amount, label, row_each, stack
from hops.report.palette import group_class, group_fill, looks
from hops.report.sections.exemplar import waterfall
from hops.report.write import Page, write_html
from hops.run.documents.gate import VALID
from hops.sources.trace_set import TraceSet
from hops.tables.budget import band_name, by_group
from hops.tables.of_traces.operations import operation_parts_table, operations_table, tail_text
from hops.tables.of_traces.trust import trust_elements

QUESTION = "Where did the time of these traces go?"
_ORDER = {"p50": "nearest to the median", "p99": "nearest to p99"}


def write_traces_page(
    file: Path, read: TraceSet, analysed: Analysed, operations: Sequence[Operation], left_out: int
) -> None:
    """Writes the page.

    Args:
        file: Path of the page.
        read: Traces.
        analysed: Their budgets.
        operations: Operations to show.
        left_out: Number of operations left out.

    Raises:
        OSError: The disk is full, or the file cannot be written.
    """
    trust = trust_elements(analysed.trust, end_to_end=analysed.end_to_end)
    sections = [
        Section("trust", "How far to trust it", [Points(read.said.splitlines()), *trust]),
        Section("operations", "Root operations", _overview(operations, left_out)),
        *(_section(number, one, read, analysed) for number, one in enumerate(operations)),
    ]
    page = Page(
        name=plural(len(read.inputs), "input"),
        kind="traces",
        question=QUESTION,
        measured=[plural(len(read.traces), "trace")],
        verdict=VALID,
        trust="",
        facts=[("spans", f"{read.spans:,}"), ("formats", ", ".join(read.formats) or "–")],
        sections=sections,
    )
    write_html(page, file)


def _overview(operations: Sequence[Operation], left_out: int) -> list[Element]:
    elements: list[Element] = [
        Text(
            "A hop budget splits the time of a trace's root into parts along the critical path. The parts of each "
            "trace add up to its whole, to the nanosecond. Percentiles do not add up, so each column is the mean of "
            "all traces, or of those in a band: around the median, and above p99."
        ),
        operations_table(operations),
    ]
    if left_out:
        more = f"{plural(left_out, 'more operation')} with less time {'is' if left_out == 1 else 'are'} left out"
        elements.append(Text(f"{more}; --top shows more."))
    return elements


def _section(number: int, operation: Operation, read: TraceSet, analysed: Analysed) -> Section:
    groups = {group_of(part) for budget in operation.budget_ms.values() for part in budget}
    key = [(f"fill {group_class(group)}", group) for group in GROUPS if group in groups]
    tail = tail_text(operation)
    elements: list[Element] = [
        Figures([_bands_chart(operation)], key),
        *([tail] if tail.text else []),
        operation_parts_table(operation),
        Fold("Exemplars, hop by hop", list(_exemplars(operation, read, analysed)), opened=number == 0),
    ]
    return Section(f"operation-{number + 1}", operation.name, elements)


def _exemplars(operation: Operation, read: TraceSet, analysed: Analysed) -> list[Element]:
    trees = {name: analysed.tree(read.traces[trace_id]) for name, trace_id in operation.distinct_exemplars.items()}
    scale = max((tree.root.end_ns - tree.root.start_ns for tree in trees.values() if tree.root is not None), default=1)
    drawn: list[Element] = []
    for look, (name, tree) in zip(looks([_ORDER[name] for name in trees]), trees.items(), strict=True):
        assert tree.root is not None, name
        drawn.append(Drawing(waterfall(look, operation.name, tree, tree.root, max(1, scale))))
        if read.jaeger:
            url = f"{read.jaeger}/trace/{tree.root.span.trace_id}"
            drawn.append(Drawing(Markup(f'<p class="how"><a href="{escape(url)}">This trace in Jaeger</a></p>')))  # noqa: S704
    return drawn


def _bands_chart(operation: Operation) -> Chart:
    names = {band: band_name(band, operation.traces) for band in BANDS}
    rows: list[dict[str, Any]] = []
    for band in BANDS:
        groups = by_group(operation.budget_ms[band])
        total = sum(groups.values())
        rows += [
            {"band": names[band], "group": group, "ms": ms, "order": GROUPS.index(group), "sum": total,
             "text": numbers.plain(total)}
            for group, ms in groups.items()
        ]  # fmt: skip
    top = max((row["sum"] for row in rows), default=1.0) or 1.0
    x = amount("ms", "ms", scale={"domain": [0, top * 1.17], "nice": False}, stacked=True, tickCount=4)
    sums = {"aggregate": [], "groupby": ["band", "sum", "text"]}
    spec: chart.Spec = {
        "height": {"step": 24},
        "encoding": {"y": row_each("band", [names[band] for band in BANDS])},
        "layer": [
            stack("bar", x, GROUPS, [group_fill(group) for group in GROUPS]),
            {**label({"x": amount("sum")}), "transform": [sums]},
        ],
    }
    described = "; ".join(
        f"{names[band]} {numbers.plain(sum(operation.budget_ms[band].values()))} ms" for band in BANDS
    )
    return chart.draw(operation.name, f"Hop budgets by group of parts: {described}; parts in the table.", spec, rows)
