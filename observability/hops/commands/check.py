"""`hopwise check`: whether traces keep limits of time, by operation and part."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from xml.etree import ElementTree

import typer

from hops.commands.sources import BAD_INPUT, AsJson, Format, Source, reported, show, timelines_in

if TYPE_CHECKING:
    from hops.analysis.of_traces.limits import Checked

BROKEN = 1


class CheckFormat(StrEnum):
    """How a check is written."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JUNIT = "junit"


def check(
    limits: Annotated[
        Path, typer.Argument(metavar="BUDGETS", help="YAML file: operations, parts, figures with times.")
    ],
    source: Source,
    written: Annotated[CheckFormat, typer.Option("--format", help="How to write the result.")] = CheckFormat.TEXT,
    as_json: AsJson = False,
) -> None:
    """Check limits of time by operation and part.

    Exit code 0 if none is broken, 1 if one is, 2 if there are too few traces to tell or the input is wrong.
    """
    from hops.analysis.of_traces import limits as time_limits
    from hops.tables.of_traces.results import limits_elements

    with reported():
        rows = time_limits.check(time_limits.read_limits(limits), timelines_in(source))
    if as_json:
        print(json.dumps([row.as_document() for row in rows], indent=2, ensure_ascii=False))
    elif written is CheckFormat.JUNIT:
        print(junit(rows))
    else:
        show("Limits", limits_elements(rows), Format(written.value))
    states = {row.state for row in rows}
    if "broken" in states:
        raise typer.Exit(BROKEN)
    if "cannot tell" in states:
        raise typer.Exit(BAD_INPUT)


def junit(rows: Sequence[Checked]) -> str:
    """The result as JUnit's XML: a suite for each operation; who cannot tell reports an error."""
    root = ElementTree.Element("testsuites")
    for operation, group in groupby(rows, lambda row: row.limit.operation):
        of_operation = list(group)
        states = [row.state for row in of_operation]
        counts = {"tests": len(states), "failures": states.count("broken"), "errors": states.count("cannot tell")}
        suite = ElementTree.SubElement(
            root, "testsuite", {"name": operation, **{name: str(count) for name, count in counts.items()}}
        )
        for row in of_operation:
            limit = row.limit
            name = f"{limit.part} {limit.figure} at most {limit.ms:g} ms"
            case = ElementTree.SubElement(suite, "testcase", classname=operation, name=name)
            low, high = row.ci95
            if row.state == "broken":
                told = f"{row.measured_ms:.3f} ms, with an interval of {low:.3f} to {high:.3f} ms"
                ElementTree.SubElement(case, "failure", message=told).text = limit.places[-1]
            elif row.state == "cannot tell":
                ElementTree.SubElement(case, "error", message=f"cannot tell: {row.reason}").text = limit.places[-1]
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)
