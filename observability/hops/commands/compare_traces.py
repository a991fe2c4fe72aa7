"""`hopwise compare-traces`: which operations became slower from one set of traces to another, and where."""

from __future__ import annotations

from typing import Annotated

import typer

from hops.commands import sources as shared
from hops.sources import LIMIT


def compare_traces(
    a: Annotated[str, typer.Argument(metavar="A", help="Traces of one side, such as before a change; any SOURCE.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Traces of the other side, such as after a change.")],
    service: shared.Service = "",
    operation: shared.SpanName = "",
    since: shared.Since = "",
    until: shared.Until = "",
    limit: shared.Most = LIMIT,
    header: shared.Headers = None,
    mapping: shared.NamesFile = None,
    correct_clocks: shared.CorrectClocks = False,
    end_to_end: shared.EndToEnd = False,
    written: shared.InFormat = shared.Format.TEXT,
    html: shared.Html = None,
    as_json: shared.AsJson = False,
) -> None:
    """Say which operations are slower in B than in A, and in which part; two sets of traces are not an experiment."""
    from hops.analysis.of_traces.sets import compare_sets
    from hops.tables.of_traces.results import sets_elements

    with shared.reported():
        how = shared.read_options(
            [a, b], service, operation, since, until, limit, header, mapping, correct_clocks, end_to_end, html=html
        )
        sides = [shared.read_traces([one], how.query) for one in (a, b)]
        sets = compare_sets(*(shared.timelines_of(side, how) for side in sides))
        elements = sets_elements(sets)
        shared.write_page(html, "two sets of traces", "Which operations are slower in B, and where?", elements, *sides)
    if as_json:
        shared.print_json(sets.as_document(), *sides)
    else:
        shared.show("Two sets of traces", elements, written, *sides)
    shared.end(how, *sides)
