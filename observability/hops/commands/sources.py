"""What the commands share that look at sets of traces: where these come from, how results are shown, how errors end."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from hops.errors import HopsError, NotEnoughDataError

if TYPE_CHECKING:
    from hops.analysis.of_traces.timelines import Timeline
    from hops.elements.element import Element
    from hops.traces.span import Span
    from hops.traces.tree import Tree

BAD_INPUT = 2
WIDTH_OF_A_PIPE = 110
Source = Annotated[
    str,
    typer.Argument(metavar="SOURCE", help="Traces: a file, a folder, a pattern, - for standard input, or an address."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class Format(StrEnum):
    """How a result is written for people."""

    TEXT = "text"
    MARKDOWN = "markdown"


InFormat = Annotated[Format, typer.Option("--format", help="How to write the result.")]


def read_source(source: str) -> dict[str, list[Span]]:
    """Reads traces; on standard error, what was read and what was refused.

    Args:
        source: A file, a folder, a pattern, `-`, or the address of a query API.

    Returns:
        Spans by trace id.

    Raises:
        HopsError: There is nothing to read.
    """
    from hops.sources.trace_set import read_sources

    read = read_sources([source])
    print(read.said, file=sys.stderr)
    if not read.traces:
        raise NotEnoughDataError(f"no spans in {source}")
    return read.traces


def trees_in(source: str) -> Iterator[Tree]:
    """The trees of all traces of a source; on standard error, how many of them lack something.

    Raises:
        HopsError: There is nothing to read.
        OSError: A file cannot be read.
    """
    from hops.budget.any_system import tree_of

    traces = read_source(source)
    broken = 0
    for spans in traces.values():
        tree = tree_of(spans)
        broken += not tree.quality.complete
        yield tree
    if broken:
        print(
            f"{source}: {broken:,} of {len(traces):,} traces lack spans; their times are as far as known.",
            file=sys.stderr,
        )


def timelines_in(source: str) -> dict[str, Timeline]:
    """What the traces of a source took, by root operation.

    Raises:
        HopsError: There is nothing to read, or no trace has a root.
        OSError: A file cannot be read.
    """
    from hops.analysis.of_traces.timelines import budget_of, timelines_of

    timelines = timelines_of(budget_of(tree) for tree in trees_in(source) if tree.root is not None)
    if not timelines:
        raise NotEnoughDataError(f"{source}: no trace has a root span, so none has an end-to-end time")
    return timelines


@contextmanager
def reported() -> Iterator[None]:
    """Turns an error of the context into a message and exit code 2: the input is at fault, or there is too little."""
    try:
        yield
    except (HopsError, OSError) as error:
        print(f"hops: {error}", file=sys.stderr)
        raise typer.Exit(BAD_INPUT) from error


def show(title: str, elements: Sequence[Element], written: Format) -> None:
    """Prints a result for people."""
    if written is Format.MARKDOWN:
        from hops.elements.element import Section
        from hops.elements.markdown import markdown

        print(markdown(title, [], [Section("result", "Result", elements)]), end="")
        return
    from hops.terminal.console import terminal
    from hops.terminal.render import rendered

    terminal(width=None if sys.stdout.isatty() else WIDTH_OF_A_PIPE).print(rendered(elements))
