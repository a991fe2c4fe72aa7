"""Shared code of the commands that read traces: reading sources, showing results, and reporting errors."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from hops.errors import HopsError, InputError, NotEnoughDataError, SourceError

if TYPE_CHECKING:
    from hops.analysis.of_traces.timelines import Timeline
    from hops.budget.mapping import NameMap
    from hops.elements.element import Element
    from hops.sources.query import Query
    from hops.sources.trace_set import TraceSet
    from hops.traces.tree import Tree

BAD_INPUT = 2
"""Exit code if any input was refused, even if the rest was read, or if there are too few traces."""
WIDTH_OF_A_PIPE = 110
SINCE = "1h"
_TRACE_ID = re.compile(r"[0-9a-fA-F]{1,32}")

Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE...",
        help="Files, folders, patterns, - for standard input, or addresses: of a Jaeger, Tempo or Zipkin, of a "
        "trace in Jaeger's UI, or of any answer below /api/.",
        show_default=False,
    ),
]
Service = Annotated[str, typer.Option(help="For addresses: a service in the traces.")]
SpanName = Annotated[str, typer.Option("--operation", help="For addresses: name of a span of this service.")]
Since = Annotated[
    str,
    typer.Option(help=f"For addresses: earliest start, as 30m, 2h or 1d ago, or in ISO 8601 (default: {SINCE})."),
]
Until = Annotated[str, typer.Option(help="For addresses: latest start, likewise (default: now).")]
Most = Annotated[int, typer.Option("--limit", min=1, help="For addresses: maximum number of traces.")]
Headers = Annotated[
    list[str] | None,
    typer.Option("--header", metavar="NAME:VALUE", help="For addresses: a header to send, such as credentials."),
]
NamesFile = Annotated[
    Path | None,
    typer.Option("--mapping", metavar="FILE", help="YAML that renames and groups services, operations and parts."),
]
CorrectClocks = Annotated[
    bool, typer.Option("--correct-clocks", help="Move the spans of services whose clocks certainly differ.")
]
EndToEnd = Annotated[
    bool, typer.Option("--end-to-end", help="Let each trace last until its last span has ended, over all queues.")
]
Html = Annotated[Path | None, typer.Option(metavar="FILE", help="Also write one self-contained page.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class Format(StrEnum):
    """Format of a result for people."""

    TEXT = "text"
    MARKDOWN = "markdown"


InFormat = Annotated[Format, typer.Option("--format", help="How to write the result.")]


class Chosen(NamedTuple):
    """Options about traces; `names` is None without a file of names."""

    query: Query
    names: NameMap | None
    correct_clocks: bool
    end_to_end: bool


def read_options(
    sources: Sequence[str],
    service: str,
    operation: str,
    since: str,
    until: str,
    limit: int,
    headers: Sequence[str] | None,
    mapping: Path | None,
    correct_clocks: bool,
    end_to_end: bool,
    trace_ids: Sequence[str] | None = None,
    html: Path | None = None,
) -> Chosen:
    """Reads the options that all these commands have.

    Raises:
        SourceError: An option has a wrong form or needs an address, or the window ends before it begins.
        InputError: The file of names has a wrong form, or the page is a folder or has no folder.
        OSError: The file of names cannot be read.
    """
    from hops.budget.mapping import read_names
    from hops.sources.query import Query, header_of, is_url, moment_ns

    if html is not None and html.is_dir():
        raise InputError(f"--html {html}: is a folder; give a file")
    if html is not None and not html.parent.is_dir():
        raise InputError(f"--html {html}: there is no folder {html.parent}")

    asking = {"service": service, "operation": operation, "since": since, "until": until, "header": headers}
    ignored = [f"--{name}" for name, value in asking.items() if value]
    if ignored and not any(map(is_url, sources)):
        raise SourceError(f"{', '.join(ignored)} can only be used with an address, but got {', '.join(sources)}")
    for one in trace_ids or ():
        if not _TRACE_ID.fullmatch(one):
            raise SourceError(f"--trace {one}: a trace id consists of 1 to 32 hexadecimal digits")
    query = Query(
        service=service,
        operation=operation,
        since_ns=moment_ns(since or SINCE, "--since"),
        until_ns=moment_ns(until, "--until") if until else 0,
        limit=limit,
        trace_ids=tuple(trace_ids or ()),
        headers=dict(map(header_of, headers or ())),
    )
    if query.since_ns >= query.ends_ns:
        raise SourceError(f"--since {since or SINCE} is not before --until {until or 'now'}")
    return Chosen(query, None if mapping is None else read_names(mapping), correct_clocks, end_to_end)


def read_traces(
    sources: Sequence[str], query: Query, *, forced: str = "", progress: Callable[[str], None] | None = None
) -> TraceSet:
    """Reads all sources.

    Raises:
        NotEnoughDataError: Nothing could be read; the message says what was refused and why.
        SourceError: The format is unknown.
    """
    from hops.sources.jaeger_json import trace_id_of
    from hops.sources.recognise import FORMATS
    from hops.sources.trace_set import read_sources

    if forced and forced not in FORMATS:
        raise SourceError(f"--format {forced}: choose one of {', '.join(FORMATS)}")
    tell = None if progress is None else lambda name, spans: progress(f"{name}: {spans:,} spans")
    read = read_sources(sources, forced=forced, query=query, progress=tell)
    if query.trace_ids:
        wanted = [trace_id_of(one) for one in query.trace_ids]
        read.missing = [f"No trace {one} in {', '.join(sources)}" for one in wanted if one not in read.traces]
        read.traces = {one: read.traces[one] for one in wanted if one in read.traces}
    if not read.traces:
        raise NotEnoughDataError(read.said)
    return read


def trees_of(read: TraceSet, how: Chosen) -> Iterator[Tree]:
    """Builds the trees of all traces; reports on standard error what was read, and how many traces are incomplete."""
    from hops.analysis.of_traces.operations import prepare
    from hops.conclusions.wording import plural
    from hops.units import NS_PER_MS

    print(read.said, file=sys.stderr)
    analysed = prepare(read.traces, how.names, correct_clocks=how.correct_clocks, end_to_end=how.end_to_end)
    if offsets := analysed.trust.corrected:
        moved = ", ".join(f"{name} by {-offset / NS_PER_MS:+.3f} ms" for name, offset in offsets.items())
        print(f"Clocks corrected, as requested: {moved}.", file=sys.stderr)
    broken = 0
    left_out: list[str] = []
    for trace_id, spans in read.traces.items():
        tree = analysed.tree(spans)
        broken += not tree.quality.complete
        if tree.quality.left_out:
            left_out.append(trace_id)
        yield tree
    if left_out:
        read.left_out = [
            f"Left out: {len(left_out):,} of {plural(len(read.traces), 'trace')}, because the root has no times or "
            f"impossible times, or ends before it begins. The first is {left_out[0]}."
        ]
    if broken:
        lack = "lacks" if broken == 1 else "lack"
        print(
            f"{broken:,} of {plural(len(read.traces), 'trace')} {lack} spans; times are shown as far as known.",
            file=sys.stderr,
        )


def timelines_of(read: TraceSet, how: Chosen) -> dict[str, Timeline]:
    """Computes timelines of the traces, by root operation.

    Raises:
        NotEnoughDataError: No trace has a root whose times are known.
    """
    from hops.analysis.of_traces import timelines

    result = timelines.timelines_of(timelines.budget_of(tree) for tree in trees_of(read, how) if tree.root is not None)
    if not result:
        raise NotEnoughDataError("no trace has a root span whose times are known, so none has an end-to-end time")
    return result


@contextmanager
def reported() -> Iterator[None]:
    """Turns an error inside the `with` block into a message and exit code 2: the input is wrong or insufficient."""
    try:
        yield
    except (HopsError, OSError) as error:
        print(f"hops: {error}", file=sys.stderr)
        raise typer.Exit(BAD_INPUT) from error


def print_json(result: Mapping[str, Any], *sets: TraceSet) -> None:
    """Prints a result for programs, with the refused input and the limits that were reached."""
    lacking = {
        "refused": [one for read in sets for one in read.refused],
        "limited": [one for read in sets for one in read.limited],
        "left_out": [one for read in sets for one in read.left_out],
    }
    print(json.dumps({**result, **lacking}, indent=2, ensure_ascii=False))


def write_page(html: Path | None, kind: str, question: str, elements: Sequence[Element], *sets: TraceSet) -> None:
    """Writes a result as one page if a file for it was given; errors as in `hops.report.write.write_html`."""
    if html is None:
        return
    from hops.report.traces_page import write_result_page

    write_result_page(html, kind, question, elements, sets)
    print(f"Page: {html}", file=sys.stderr)


def show(title: str, elements: Sequence[Element], written: Format, *sets: TraceSet) -> None:
    """Prints a result for people, with what its traces lack."""
    from hops.elements.element import Points, Section

    elements = [*elements, Points([one for read in sets for one in read.lacking])]
    if written is Format.MARKDOWN:
        from hops.elements.markdown import markdown

        print(markdown(title, [], [Section("result", "Result", elements)]), end="")
        return
    from hops.terminal.console import terminal
    from hops.terminal.render import render

    terminal(width=None if sys.stdout.isatty() else WIDTH_OF_A_PIPE).print(render(elements))


def end(how: Chosen, *sets: TraceSet) -> None:
    """Reports patterns in the file of names that matched nothing, and ends the command if input was refused.

    Raises:
        Exit: Input was refused.
    """
    if how.names is not None and how.names.unused:
        print(f"These patterns in the file of names match nothing: {'; '.join(how.names.unused)}.", file=sys.stderr)
    if any(read.refused for read in sets):
        raise typer.Exit(BAD_INPUT)
