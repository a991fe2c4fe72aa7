"""Traces of any system, or results about them, as one page that looks like the report of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from markupsafe import Markup, escape

from hops.analysis.of_traces.operations import Analysed, Operation
from hops.budget.bands import BANDS
from hops.budget.groups import group_of
from hops.conclusions.wording import plural
from hops.elements.element import Chart, Drawing, Element, Figures, Fold, Points, Section, Text
from hops.report import chart
from hops.report.palette import group_key, looks
from hops.report.sections.budget import WIDE, stacked_bars
from hops.report.sections.exemplar import waterfall
from hops.report.write import Page, write_html
from hops.run.documents.gate import VALID
from hops.sources.trace_set import TraceSet
from hops.tables.budget import MEAN, band_name
from hops.tables.of_traces.operations import answer_of, operation_parts_table, operations_table, tail_text
from hops.tables.of_traces.trust import trust_elements

QUESTION = "Where did the time of these traces go?"
_TRUST = "How far to trust it"
_ORDER = {"p50": "nearest to the median", "p99": "nearest to p99"}
_SETS = {"limits": ("", "baseline: "), "two sets of traces": ("A: ", "B: ")}
"""By the kind of a page, the beginning of what it says about each set; nothing for a kind with one set."""


def write_traces_page(
    file: Path, read: TraceSet, analysed: Analysed, operations: Sequence[Operation], top: int
) -> None:
    """Writes a page with the hop budgets of traces; all `operations`, longest first. Errors as in `write_html`."""
    shown = operations[:top]
    trust = [Points(read.said.splitlines()), *trust_elements(analysed.trust, end_to_end=analysed.end_to_end)]
    sections = [
        Section("operations", "Where the time goes", _overview(shown, len(operations) - len(shown))),
        *(_section(number, one, read, analysed, folded=len(shown) > 1) for number, one in enumerate(shown)),
        Section("trust", _TRUST, trust, folded=True),
    ]
    _write(file, "traces", QUESTION, answer_of(operations), sections, [read])


def write_result_page(
    file: Path, kind: str, question: str, elements: Sequence[Element], sets: Sequence[TraceSet]
) -> None:
    """Writes a page with a result about sets of traces, the answer first; errors as in `write_html`."""
    first, *others = elements
    assert isinstance(first, Text)
    sections = [
        Section("result", "Result", others),
        Section("trust", _TRUST, [Points([line for read in sets for line in read.said.splitlines()])], folded=True),
    ]
    _write(file, kind, question, first.text, sections, sets)


def _write(
    file: Path, kind: str, question: str, answer: str, sections: Sequence[Section], sets: Sequence[TraceSet]
) -> None:
    facts = [
        (f"{name}spans".strip(), f"{read.spans:,} in {plural(len(read.traces), 'trace')}")
        for name, read in zip(_SETS.get(kind, ("",)), sets, strict=False)
    ]
    formats = ", ".join(sorted({one for read in sets for one in read.formats})) or "–"
    page = Page(
        name=plural(sum(len(read.inputs) for read in sets), "input"),
        kind=kind,
        question=question,
        measured=[plural(sum(len(read.traces) for read in sets), "trace")],
        verdict=VALID,
        trust="",
        facts=[*facts, ("formats", formats)],
        sections=sections,
        answer=answer.removesuffix("."),
    )
    write_html(page, file)


def _overview(operations: Sequence[Operation], left_out: int) -> list[Element]:
    elements: list[Element] = []
    if len(operations) > 1:
        means = {one.name: one.budget_ms[MEAN] for one in operations}
        wide, narrow = (_chart("The mean of each root operation", means, width) for width in (WIDE, chart.WIDTH))
        elements.append(Figures([wide], _key(means.values()), wide=True, narrow=[narrow]))
    elements.append(operations_table(operations))
    if left_out:
        more = f"{plural(left_out, 'more operation')} with less time {'is' if left_out == 1 else 'are'} left out"
        elements.append(Text(f"{more}; --top shows more."))
    explained = Text(
        "A hop budget splits the time of a trace's root into parts along the critical path. The parts of each "
        "trace add up to its whole, to the nanosecond. Percentiles do not add up, so each column is the mean of "
        "all traces, or of those in a band: around the median, and above p99."
    )
    return [*elements, Fold("How to read it", [explained])]


def _section(number: int, operation: Operation, read: TraceSet, analysed: Analysed, *, folded: bool) -> Section:
    bands = {band_name(band, operation.traces): operation.budget_ms[band] for band in BANDS}
    tail = tail_text(operation)
    elements: list[Element] = [
        Figures([_chart(operation.name, bands)], _key(bands.values())),
        *([tail] if tail.text else []),
        operation_parts_table(operation),
        Fold("Exemplars, hop by hop", list(_exemplars(operation, read, analysed)), opened=number == 0),
    ]
    return Section(f"operation-{number + 1}", operation.name, elements, folded=folded)


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


def _key(budgets: Iterable[Mapping[str, float]]) -> list[tuple[str, str]]:
    return group_key({group_of(part) for budget in budgets for part in budget})


def _chart(title: str, budgets: Mapping[str, Mapping[str, float]], width: int = chart.WIDTH) -> Chart:
    spec, rows, described = stacked_bars(budgets, list(budgets), width=width)
    return chart.draw(title, f"Hop budgets by group of parts: {described}; parts in the table.", spec, rows)
