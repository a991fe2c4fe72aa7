"""`hopwise what-if`: how long traces would have taken with parts faster, in parallel, or removed."""

from __future__ import annotations

from pathlib import Path
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
    Sources,
    SpanName,
    Until,
    end,
    print_json,
    read_options,
    read_traces,
    reported,
    show,
    trees_of,
    write_page,
)
from hops.sources import LIMIT


def what_if(
    sources: Sources,
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
    """Predict how long operations would take if parts were faster or slower, in parallel, or removed."""
    # Imported here: help and wrong options need none of it.
    from hops.analysis.of_traces.what_if import predict
    from hops.budget.scenario import read_scenario, scenario_of
    from hops.tables.of_traces.results import what_if_elements

    with reported():
        given = (change or [], parallel or [], remove or [])
        if scenario is not None:
            given = read_scenario(scenario, *given)
        how = read_options(
            sources, service, operation, since, until, limit, header, mapping, correct_clocks, end_to_end, html=html
        )
        read = read_traces(sources, how.query)
        rows = predict(trees_of(read, how), lambda known: scenario_of(known, *given))
        elements = what_if_elements(rows)
        write_page(html, "what if", "How long would these traces have taken?", elements, read)
    if as_json:
        print_json({"operations": [row.as_document() for row in rows]}, read)
    else:
        show("What if", elements, written, read)
    end(how, read)
