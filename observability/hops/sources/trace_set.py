"""All traces of all sources: what was read, what was refused, and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

import msgspec

from hops.errors import HopsError, printable
from hops.sources.files import STDIN, open_stdin, opened_file, paths_of, read_file
from hops.sources.query import Query, answers, is_url
from hops.sources.recognise import FORMATS
from hops.traces.span import Span

AND = " and "
"""Separator of formats, for an input with several."""
Progress = Callable[[str, int], None]
"""Called with the name of the input and the number of spans read so far."""


class Input(msgspec.Struct):
    """One file or answer.

    Args:
        format: Formats of the input, in words; empty if none was recognised.
        refused: Error that kept the input, or the rest of it, from being read; empty without an error.
    """

    name: str
    format: str = ""
    spans: int = 0
    refused: str = ""

    def __post_init__(self) -> None:
        """Makes the name printable: the name of a file may be any bytes."""
        self.name = printable(self.name)


class TraceSet(msgspec.Struct):
    """Traces by id.

    Args:
        traces: Spans of each trace, in the order of their arrival.
        missing: Sentences about requested traces that are in no input.
        limited: Sentences about query APIs that may have more traces than the limit of the request.
        left_out: Sentences about traces that no figure includes.
        jaeger: Address of the Jaeger whose UI shows these traces; empty if they came from elsewhere.
    """

    traces: dict[str, list[Span]] = msgspec.field(default_factory=dict)
    inputs: list[Input] = msgspec.field(default_factory=list)
    missing: list[str] = []
    limited: list[str] = []
    left_out: list[str] = []
    jaeger: str = ""

    @property
    def spans(self) -> int:
        """Number of spans read, including duplicates."""
        return sum(one.spans for one in self.inputs)

    @property
    def formats(self) -> list[str]:
        """Every format of an input, in words."""
        return sorted({kind for one in self.inputs if one.format for kind in one.format.split(AND)})

    @property
    def refused(self) -> list[str]:
        """What could not be read: one sentence for each problem."""
        return [one.refused for one in self.inputs if one.refused] + self.missing

    @property
    def lacking(self) -> list[str]:
        """What the traces may lack, in words: refused input, and limits that were reached."""
        inputs = [f"{'Partly read' if one.spans else 'Refused'}: {one.refused}" for one in self.inputs if one.refused]
        return inputs + self.missing + self.limited + self.left_out

    @property
    def said(self) -> str:
        """What was read, in one sentence; then what is missing, one line for each problem."""
        counts = {
            "read": sum(not one.refused for one in self.inputs),
            "partly read": sum(bool(one.spans and one.refused) for one in self.inputs),
            "refused": sum(not one.spans for one in self.inputs),
        }
        parts = [
            f"{_count(count, 'input')} {'was' if count == 1 else 'were'} {what}"
            for what, count in counts.items()
            if count
        ]
        kinds = ", ".join(self.formats)
        read = f"{', '.join(parts)}{f' ({kinds})' if kinds else ''}"
        sentence = f"{read}: {_count(self.spans, 'span')} in {_count(len(self.traces), 'trace')}."
        return "\n".join([sentence, *self.lacking])


def read_sources(
    sources: Iterable[str], *, forced: str = "", query: Query | None = None, progress: Progress | None = None
) -> TraceSet:
    """Reads every source; an error in one source does not keep other sources from being read.

    Args:
        sources: Files, folders, patterns, `-` for standard input, or addresses.

    Returns:
        The traces and inputs; an input that could not be read, even a missing source, is included with the reason.
    """
    made = TraceSet()
    traces: dict[str, list[Span]] = defaultdict(list)
    query = query or Query()
    for source in sources:
        searched: set[str] = set()
        before = len(made.inputs)
        for one, batches, is_search in _inputs(source, forced, query, made):
            made.inputs.append(one)
            kinds: dict[str, None] = {}
            try:
                for kind, batch in batches:
                    kinds[FORMATS[kind]] = None
                    one.spans += len(batch)
                    for span in batch:
                        traces[span.trace_id].append(span)
                    if is_search:
                        searched.update(span.trace_id for span in batch)
                    if progress is not None:
                        progress(one.name, one.spans)
                if not one.spans and not one.refused:
                    one.refused = f"{one.name}: has no spans"
            except (HopsError, OSError) as error:
                one.refused = str(error)
                if is_search and not one.spans:
                    searched.add(one.name)  # a trace that the search found, and that cannot be read
            one.format = AND.join(kinds)
        if len(made.inputs) == before:
            made.inputs.append(Input(source, refused=f"{source}: lacks the requested traces"))
        if len(searched) >= query.limit:
            made.limited.append(f"{source}: it gave as many traces as --limit {query.limit} allows, and may have more.")
    made.traces = dict(traces)
    return made


def _inputs(
    source: str, forced: str, query: Query, made: TraceSet
) -> Iterator[tuple[Input, Iterator[tuple[str, list[Span]]], bool]]:
    """Lists each input with its spans in batches, and whether it answers a search, to which the limit applies."""
    try:
        if is_url(source):
            for answer in answers(source, forced, query):
                made.jaeger = made.jaeger or answer.jaeger
                yield Input(answer.url), answer.batches, answer.is_search
        elif source == STDIN:
            with open_stdin() as file:
                yield Input("standard input"), read_file(file, "standard input", forced), False
        else:
            for path in paths_of(source):
                yield Input(str(path)), _of_path(str(path), forced), False
    except (HopsError, OSError) as error:
        yield Input(source, refused=str(error)), iter(()), False


def _of_path(path: str, forced: str) -> Iterator[tuple[str, list[Span]]]:
    with opened_file(path) as file:
        yield from read_file(file, path, forced)


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
