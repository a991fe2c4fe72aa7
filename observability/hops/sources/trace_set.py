"""All traces of all sources: what was read, what was refused, and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

import msgspec

from hops.errors import HopsError
from hops.sources.files import STDIN, open_stdin, opened_file, paths_of, read_file
from hops.sources.query import Query, answers, is_url
from hops.sources.recognise import FORMATS
from hops.traces.span import Span

AND = " and "
"""Between the formats of an input that is in several."""
Progress = Callable[[str, int], None]
"""Called with the name of the input and how many spans were read so far."""


class Input(msgspec.Struct):
    """One file or answer.

    Args:
        name: Name of the file, or address.
        format: Formats that it was in, in words; empty if none was recognised.
        spans: How many spans were read.
        refused: What could not be read; empty if all was.
    """

    name: str
    format: str = ""
    spans: int = 0
    refused: str = ""


class TraceSet(msgspec.Struct):
    """Traces by id.

    Args:
        traces: Spans of each, in the order of their arrival.
        inputs: Inputs in order.
        missing: Sentences on traces that were asked for and are in no input.
        limited: Sentences on query APIs that may have more traces than they were asked for.
        left_out: Sentences on traces that no figure can be made of.
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
        """How many spans were read, duplicates included."""
        return sum(one.spans for one in self.inputs)

    @property
    def formats(self) -> list[str]:
        """Every format that an input was in, in words."""
        return sorted({kind for one in self.inputs if one.format for kind in one.format.split(AND)})

    @property
    def refused(self) -> list[str]:
        """What could not be read, a sentence each."""
        return [one.refused for one in self.inputs if one.refused] + self.missing

    @property
    def lacking(self) -> list[str]:
        """What of the traces may be absent, for people: what was refused, and where a limit was reached."""
        inputs = [f"{'Partly read' if one.spans else 'Refused'}: {one.refused}" for one in self.inputs if one.refused]
        return inputs + self.missing + self.limited + self.left_out

    @property
    def said(self) -> str:
        """What was read, in a sentence; then what is lacking, a line each."""
        counts = {
            "read": sum(not one.refused for one in self.inputs),
            "partly read": sum(bool(one.spans and one.refused) for one in self.inputs),
            "refused": sum(not one.spans for one in self.inputs),
        }
        told = [
            f"{_counted(count, 'input')} {'was' if count == 1 else 'were'} {what}"
            for what, count in counts.items()
            if count
        ]
        kinds = ", ".join(self.formats)
        read = f"{', '.join(told)}{f' ({kinds})' if kinds else ''}"
        sentence = f"{read}: {_counted(self.spans, 'span')} in {_counted(len(self.traces), 'trace')}."
        return "\n".join([sentence, *self.lacking])


def read_sources(
    sources: Iterable[str], *, forced: str = "", query: Query | None = None, progress: Progress | None = None
) -> TraceSet:
    """Reads every source; what is wrong with one does not keep the others from being read.

    Args:
        sources: Files, folders, patterns, `-` for standard input, or addresses.
        forced: One of `recognise.FORMATS`; empty to recognise each input's.
        query: Which traces to ask a query API for.
        progress: Told how far reading is.

    Returns:
        What was read; whatever was not, also a source that is not there, is among the inputs with the reason.
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
            one.format = AND.join(kinds)
        if len(made.inputs) == before:
            made.inputs.append(Input(source, refused=f"{source}: has no trace that was asked for"))
        if len(searched) >= query.limit:
            made.limited.append(f"{source}: it gave as many traces as --limit {query.limit} allows, and may have more.")
    made.traces = dict(traces)
    return made


def _inputs(
    source: str, forced: str, query: Query, made: TraceSet
) -> Iterator[tuple[Input, Iterator[tuple[str, list[Span]]], bool]]:
    """Each input with its spans in batches, and whether it is of a search, which the limit holds for."""
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


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
