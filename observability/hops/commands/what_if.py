"""`hopwise what-if`: how long traces would have taken with parts faster, side by side, or not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from hops.commands.sources import AsJson, Format, InFormat, Source, reported, show, trees_in


def what_if(
    source: Source,
    change: Annotated[
        list[str] | None,
        typer.Option(
            metavar="'PART ±AMOUNT'",
            help="A part slower or faster, as 'work:payment -50%' or 'wire:order→payment +2ms'.",
        ),
    ] = None,
    parallel: Annotated[
        list[str] | None,
        typer.Option(
            metavar="'COMPONENT: CALL, CALL'", help="Calls of a component that begin when the first of them does."
        ),
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option(metavar="'PART' | 'COMPONENT: CALL'", help="Calls that are not made, as 'db:product'."),
    ] = None,
    scenario: Annotated[
        Path | None, typer.Option(metavar="FILE", help="YAML file with change, parallel and remove.")
    ] = None,
    written: InFormat = Format.TEXT,
    as_json: AsJson = False,
) -> None:
    """Predict how long operations would take if parts were faster or slower, side by side, or not there."""
    # Not at the top: help and wrong options need none of it.
    from hops.analysis.of_traces.what_if import predict
    from hops.budget.scenario import read_scenario, scenario_of
    from hops.tables.of_traces.results import what_if_elements

    with reported():
        given = (change or [], parallel or [], remove or [])
        if scenario is not None:
            given = read_scenario(scenario, *given)
        rows = predict(trees_in(source), lambda known: scenario_of(known, *given))
        if as_json:
            print(json.dumps([row.as_document() for row in rows], indent=2, ensure_ascii=False))
        else:
            show("What if", what_if_elements(rows), written)
