"""`hopwise compare-traces`: which operations became slower from one set of traces to another, and where."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from hops.commands.sources import AsJson, Format, InFormat, reported, show, timelines_in


def compare_traces(
    a: Annotated[str, typer.Argument(metavar="A", help="Traces before, or of one side, as SOURCE elsewhere.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Traces after, or of the other side.")],
    written: InFormat = Format.TEXT,
    as_json: AsJson = False,
) -> None:
    """Say which operations are slower in B than in A, and in which part; two sets of traces are no experiment."""
    from hops.analysis.of_traces.sets import compare_sets
    from hops.tables.of_traces.results import sets_elements

    with reported():
        sets = compare_sets(timelines_in(a), timelines_in(b))
    if as_json:
        print(json.dumps(sets.as_document(), indent=2, ensure_ascii=False))
    else:
        show("Two sets of traces", sets_elements(sets), written)
