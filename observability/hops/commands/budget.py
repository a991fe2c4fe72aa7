"""`hopwise budget`: where the time of any system's traces went; and `rows`, for millions of the shop's traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import asdict

from hops.commands import sources as shared
from hops.sources import LIMIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from hops.analysis.of_traces.operations import Analysed, Operation
    from hops.sources.trace_set import TraceSet

# Everything else is imported when it is used: the help must not wait for it.

TREE_SPANS = 40
"""Maximum number of spans of an exemplar in the terminal."""


def budget(
    sources: shared.Sources,
    forced: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="Format of the input: jaeger, otlp-json, otlp-proto, otlp-framed or zipkin; recognised if not given.",
        ),
    ] = "",
    service: shared.Service = "",
    operation: shared.SpanName = "",
    since: shared.Since = "",
    until: shared.Until = "",
    limit: shared.Most = LIMIT,
    header: shared.Headers = None,
    trace: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only these traces, each with its budget to the nanosecond.")
    ] = None,
    mapping: shared.NamesFile = None,
    correct_clocks: shared.CorrectClocks = False,
    end_to_end: shared.EndToEnd = False,
    top: Annotated[int, typer.Option(min=1, help="Number of root operations to show, those with the most time.")] = 5,
    html: shared.Html = None,
    as_json: shared.AsJson = False,
) -> None:
    """Split the time of any system's traces into hop budgets, whose parts add up to the nanosecond.

    Exit code 0 if everything could be read, 2 if any input was refused or no trace could be used; the rest is shown.
    """
    from hops.analysis.of_traces.document import traces_document
    from hops.analysis.of_traces.operations import analyse, operations_of
    from hops.terminal.progress import Progress

    progress = Progress()
    with shared.reported():
        how = shared.read_options(
            sources, service, operation, since, until, limit, header, mapping, correct_clocks, end_to_end, trace, html
        )
        try:
            read = shared.read_traces(sources, how.query, forced=forced, progress=progress)
            analysed = analyse(
                read.traces,
                names=how.names,
                correct_clocks=how.correct_clocks,
                end_to_end=how.end_to_end,
                progress=lambda number, of: progress(f"Hop budgets: {number:,} of {of:,} traces"),
            )
        finally:
            progress.done()
        operations = operations_of(analysed.budgets)
        if html is not None:
            from hops.report.traces_page import write_traces_page

            write_traces_page(html, read, analysed, operations, top)
        if as_json:
            print(json.dumps(traces_document(read, analysed, operations), indent=2, ensure_ascii=False))
        else:
            _print(read, analysed, operations, top, exact=bool(trace) or len(read.traces) == 1)
    if html is not None and not as_json:
        print(f"Page: {html}")
    if read.refused or not operations:
        raise typer.Exit(shared.BAD_INPUT)


def _print(read: TraceSet, analysed: Analysed, operations: Sequence[Operation], top: int, *, exact: bool) -> None:
    from hops.conclusions.wording import plural
    from hops.elements.element import Element, Heading, Points, Text
    from hops.tables.of_traces.operations import answer_of, operation_parts_table, operations_table, tail_text
    from hops.tables.of_traces.trace import after_text, trace_table
    from hops.tables.of_traces.trust import trust_elements
    from hops.terminal.console import terminal
    from hops.terminal.render import render
    from hops.terminal.trace import trace_tree

    console = terminal()

    def show(*elements: Element) -> None:
        console.print(render([one for one in elements if not isinstance(one, Text) or one.text]))

    def draw(trace_id: str, title: str) -> None:
        tree: RenderableType = trace_tree(analysed.tree(read.traces[trace_id]), TREE_SPANS)
        where = f" ({read.jaeger}/trace/{trace_id})" if read.jaeger else ""
        show(Heading(f"{title}: trace {trace_id}{where}"))
        console.print(tree, soft_wrap=True)
        console.print()

    show(
        Text(answer_of(operations), tone="verdict"),
        Heading("How far to trust it"),
        Points(read.said.splitlines()),
        *trust_elements(analysed.trust, end_to_end=analysed.end_to_end),
    )
    if exact:
        for one in analysed.budgets:
            draw(one.trace_id, one.journey)
            title = f"Hop budget of {one.journey}, trace {one.trace_id}"
            show(trace_table(title, one.parts, one.crossings), after_text(one))
        return
    left_out = len(operations) - top
    more = f"{plural(left_out, 'more operation')} with less time: give --top {len(operations)} to see all."
    show(operations_table(operations[:top]), Text(more if left_out > 0 else ""))
    for operation in operations[:top]:
        show(operation_parts_table(operation), tail_text(operation))
        for name, trace_id in operation.distinct_exemplars.items():
            draw(trace_id, f"{operation.name}, nearest to {name}")


def rows(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="OTLP JSON, one document per line, each trace on one line.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where hops.parquet and calls.parquet go.")],
    processes: Annotated[
        int | None, typer.Option(min=1, help="Number of processes (default: one for each core).")
    ] = None,
    as_json: shared.AsJson = False,
) -> None:
    """Write the hop budgets of all traces in a file as rows, however many there are."""
    from hops.conclusions.wording import plural
    from hops.run.bulk import write_rows

    with shared.reported():
        made = write_rows(file, out, processes=processes)
    if as_json:
        print(json.dumps({"budgets": made.budgets, "gap_ns": made.gap_ns, "quality": asdict(made.quality)}))
    else:
        print(f"{plural(made.budgets, 'hop budget')} in {out}; largest budget imbalance: {made.gap_ns} ns")
        counts = {name: n for name, n in asdict(made.quality).items() if n and name not in ("traces", "spans")}
        defects = ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in counts.items())
        print(f"{plural(made.quality.spans, 'span')}{f'; {defects}' if defects else ', no defect'}.")
