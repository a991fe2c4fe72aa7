"""`hopwise what-if`: how long traces would have taken with parts faster, in parallel, or removed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hops.commands import sources as shared
from hops.sources import LIMIT


def what_if(
    sources: shared.Sources,
    change: Annotated[
        list[str] | None,
        typer.Option(
            metavar="'PART ±AMOUNT'",
            help="Make a part slower or faster, such as 'work:payment -50%' or 'wire:order→payment +2ms'.",
        ),
    ] = None,
    parallel: Annotated[
        list[str] | None,
        typer.Option(
            metavar="'COMPONENT: CALL, CALL'", help="Let calls of a component begin when the first of them does."
        ),
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option(metavar="'PART' | 'COMPONENT: CALL'", help="Leave out calls, such as 'db:product'."),
    ] = None,
    scenario: Annotated[
        Path | None, typer.Option(metavar="FILE", help="YAML file with change, parallel and remove.")
    ] = None,
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
    """Predict how long operations would take if parts were faster or slower, in parallel, or removed."""
    # Imported here: help and wrong options need none of it.
    from hops.analysis.of_traces.what_if import predict
    from hops.budget.scenario import read_scenario, scenario_of
    from hops.tables.of_traces.results import what_if_elements

    with shared.reported():
        given = (change or [], parallel or [], remove or [])
        if scenario is not None:
            given = read_scenario(scenario, *given)
        how = shared.read_options(
            sources, service, operation, since, until, limit, header, mapping, correct_clocks, end_to_end, html=html
        )
        read = shared.read_traces(sources, how.query)
        rows = predict(shared.trees_of(read, how), lambda known: scenario_of(known, *given))
        elements = what_if_elements(rows)
        shared.write_page(html, "what if", "How long would these traces have taken?", elements, read)
    if as_json:
        shared.print_json({"operations": [row.as_document() for row in rows]}, read)
    else:
        shared.show("What if", elements, written, read)
    shared.end(how, read)
