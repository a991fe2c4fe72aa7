"""`hopwise budget`: where the time of any system's traces went; and `rows`, for the shop's by the million."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import asdict

from hops.commands.sources import AsJson
from hops.errors import HopsError, NotEnoughDataError
from hops.sources import LIMIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from hops.analysis.of_traces.operations import Analysed, Operation
    from hops.sources.query import Query
    from hops.sources.trace_set import TraceSet
    from hops.terminal.progress import Progress
    from hops.traces.tree import Quality

# Everything else is imported when it is used: the help must not wait for it.

TREE_SPANS = 40
"""Most spans of an exemplar in the terminal."""


def budget(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="Files, folders, patterns, - for standard input, or addresses: of a Jaeger, Tempo or Zipkin, of a "
            "trace in Jaeger's UI, or of any answer below /api/.",
            show_default=False,
        ),
    ],
    forced: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="Format of the input: jaeger, otlp-json, otlp-proto, otlp-framed or zipkin; recognised if not given.",
        ),
    ] = "",
    service: Annotated[str, typer.Option(help="Of an address: a service of the traces.")] = "",
    operation: Annotated[str, typer.Option(help="Of an address: name of a span of this service.")] = "",
    since: Annotated[
        str, typer.Option(help="Of an address: earliest start, as 30m, 2h, 1d ago or as ISO 8601.")
    ] = "1h",
    until: Annotated[str, typer.Option(help="Of an address: latest start, likewise (default: now).")] = "",
    limit: Annotated[int, typer.Option(min=1, help="Of an address: most traces.")] = LIMIT,
    header: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME:VALUE", help="Of an address: a header to send, such as credentials."),
    ] = None,
    trace: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only these traces, each with its budget to the nanosecond.")
    ] = None,
    mapping: Annotated[
        Path | None, typer.Option(metavar="FILE", help="YAML that renames and groups services, operations and parts.")
    ] = None,
    correct_clocks: Annotated[
        bool, typer.Option("--correct-clocks", help="Move the spans of services whose clocks differ for certain.")
    ] = False,
    top: Annotated[int, typer.Option(min=1, help="Number of root operations to show, those with the most time.")] = 5,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write one self-contained page, too.")] = None,
    as_json: AsJson = False,
) -> None:
    """Split the time of any system's traces into hop budgets, whose parts add up to the nanosecond."""
    from hops.analysis.of_traces.document import traces_document
    from hops.analysis.of_traces.operations import analyse, operations_of
    from hops.budget.mapping import read_names
    from hops.terminal.progress import Progress

    progress = Progress()
    try:
        names = read_names(mapping) if mapping is not None else None
        query = _query(service, operation, since, until, limit, header or [], trace or [])
        read = _read(sources, forced, query, progress)
        analysed = analyse(
            read.traces,
            names=names,
            correct_clocks=correct_clocks,
            progress=lambda number, of: progress(f"Hop budgets: {number:,} of {of:,} traces"),
        )
        operations = operations_of(analysed.budgets)
        progress.done()
        if html is not None:
            from hops.report.traces_page import write_traces_page

            write_traces_page(html, read, analysed, operations[:top], max(0, len(operations) - top))
        if as_json:
            print(json.dumps(traces_document(read, analysed, operations), indent=2, ensure_ascii=False))
        else:
            _print(read, analysed, operations, top, exact=bool(trace) or len(read.traces) == 1)
    except (HopsError, OSError) as error:
        progress.done()
        print(f"hops: {error}", file=sys.stderr)
        raise typer.Exit(1) from error
    if html is not None and not as_json:
        print(f"Page: {html}")


def _query(
    service: str, operation: str, since: str, until: str, limit: int, headers: Sequence[str], trace_ids: Sequence[str]
) -> Query:
    from hops.sources.query import Query, header_of, moment_ns

    return Query(
        service=service,
        operation=operation,
        since_ns=moment_ns(since, "--since"),
        until_ns=moment_ns(until, "--until") if until else 0,
        limit=limit,
        trace_ids=tuple(trace_ids),
        headers=dict(map(header_of, headers)),
    )


def _read(sources: Sequence[str], forced: str, query: Query, progress: Progress) -> TraceSet:
    """Everything that can be read.

    Raises:
        NotEnoughDataError: That is nothing; the message says what was refused and why.
        SourceError: The format is none, or a trace that was asked for is not there.
    """
    from hops.errors import SourceError
    from hops.sources.jaeger_json import trace_id_of
    from hops.sources.recognise import FORMATS
    from hops.sources.trace_set import read_sources

    if forced and forced not in FORMATS:
        raise SourceError(f"--format {forced}: choose one of {', '.join(FORMATS)}")
    read = read_sources(
        sources, forced=forced, query=query, progress=lambda name, spans: progress(f"{name}: {spans:,} spans")
    )
    if query.trace_ids:
        wanted = [trace_id_of(one) for one in query.trace_ids]
        if missing := [one for one in wanted if one not in read.traces]:
            raise SourceError(f"{read.said}\nNo trace {', '.join(missing)} in {', '.join(sources)}")
        read.traces = {one: read.traces[one] for one in wanted}
    if not read.traces:
        raise NotEnoughDataError(read.said)
    return read


def _print(read: TraceSet, analysed: Analysed, operations: Sequence[Operation], top: int, *, exact: bool) -> None:
    from hops.conclusions.wording import plural
    from hops.elements.element import Element, Heading, Points, Text
    from hops.tables.of_traces.operations import operation_parts_table, operations_table, tail_text
    from hops.tables.of_traces.trace import trace_table
    from hops.tables.of_traces.trust import trust_elements
    from hops.terminal.console import terminal
    from hops.terminal.render import rendered
    from hops.terminal.trace import trace_tree

    console = terminal()

    def show(*elements: Element) -> None:
        console.print(rendered([one for one in elements if not isinstance(one, Text) or one.text]))

    def draw(trace_id: str, title: str) -> None:
        tree: RenderableType = trace_tree(analysed.tree(read.traces[trace_id]), TREE_SPANS)
        where = f" ({read.jaeger}/trace/{trace_id})" if read.jaeger else ""
        show(Heading(f"{title}: trace {trace_id}{where}"))
        console.print(tree, soft_wrap=True)
        console.print()

    show(Heading("How far to trust it"), Points(read.said.splitlines()), *trust_elements(analysed.trust))
    if exact:
        for one in analysed.budgets:
            draw(one.trace_id, one.journey)
            show(trace_table(f"Hop budget of {one.journey}, trace {one.trace_id}", one.parts, one.crossings))
        return
    left_out = len(operations) - top
    more = (
        f"{plural(left_out, 'more operation')} with less time: give --top {len(operations)} to see all."
        if left_out > 0
        else ""
    )
    show(operations_table(operations[:top]), Text(more))
    for operation in operations[:top]:
        show(operation_parts_table(operation), tail_text(operation))
        for name, trace_id in operation.distinct_exemplars.items():
            draw(trace_id, f"{operation.name}, nearest to {name}")


def rows(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="OTLP JSON, one document a line, each trace on one line.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where hops.parquet and calls.parquet go.")],
    processes: Annotated[
        int | None, typer.Option(min=1, help="Number of processes (default: one for each core).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the hop budgets of all traces in a file as rows, however many there are."""
    from hops.run.bulk import write_rows

    try:
        made = write_rows(file, out, processes=processes)
    except (HopsError, OSError, UnicodeDecodeError) as error:
        print(f"hops: {error}", file=sys.stderr)
        raise typer.Exit(1) from error
    if as_json:
        print(json.dumps({"budgets": made.budgets, "gap_ns": made.gap_ns, "quality": asdict(made.quality)}))
    else:
        print(f"{made.budgets} hop budgets in {out}; largest budget imbalance: {made.gap_ns} ns")
        print(_defects(made.quality), end="")


def _defects(quality: Quality) -> str:
    counts = {name: n for name, n in asdict(quality).items() if n and name not in ("traces", "spans")}
    if not counts:
        return f"{quality.spans} spans, no defect.\n"
    return f"{quality.spans} spans; " + ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in counts.items()) + ".\n"
