"""`hopwise compare-traces`: which operations became slower from one set of traces to another, and where."""

from __future__ import annotations

from typing import Annotated

import typer

from hops.commands.sources import (
    AsJson,
    CorrectClocks,
    EndToEnd,
    Format,
    Headers,
    Html,
    InFormat,
    Most,
    NamesFile,
    Service,
    Since,
    SpanName,
    Until,
    end,
    print_json,
    read_options,
    read_traces,
    reported,
    show,
    timelines_of,
    write_page,
)
from hops.sources import LIMIT


def compare_traces(
    a: Annotated[str, typer.Argument(metavar="A", help="Traces of one side, such as before a change; any SOURCE.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Traces of the other side, such as after a change.")],
    service: Service = "",
    operation: SpanName = "",
    since: Since = "",
    until: Until = "",
    limit: Most = LIMIT,
    header: Headers = None,
    mapping: NamesFile = None,
    correct_clocks: CorrectClocks = False,
    end_to_end: EndToEnd = False,
    written: InFormat = Format.TEXT,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Say which operations are slower in B than in A, and in which part; two sets of traces are not an experiment."""
    from hops.analysis.of_traces.sets import compare_sets
    from hops.tables.of_traces.results import sets_elements

    with reported():
        how = read_options(
            [a, b], service, operation, since, until, limit, header, mapping, correct_clocks, end_to_end, html=html
        )
        sides = [read_traces([one], how.query) for one in (a, b)]
        sets = compare_sets(*(timelines_of(side, how) for side in sides))
        elements = sets_elements(sets)
        write_page(html, "two sets of traces", "Which operations are slower in B, and where?", elements, *sides)
    if as_json:
        print_json(sets.as_document(), *sides)
    else:
        show("Two sets of traces", elements, written, *sides)
    end(how, *sides)
