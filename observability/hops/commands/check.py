"""`hopwise check`: whether traces stay within limits on times, by operation and part."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from xml.etree import ElementTree

import typer

from hops.commands import sources as shared
from hops.sources import LIMIT

if TYPE_CHECKING:
    from hops.analysis.of_traces.limits import Checked

BROKEN = 1
REFUSED = "refused input"


class CheckFormat(StrEnum):
    """Format of a check's result."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JUNIT = "junit"


def check(
    budgets: Annotated[
        Path, typer.Argument(metavar="BUDGETS", help="YAML file: operations, parts, figures with times.")
    ],
    sources: shared.Sources,
    service: shared.Service = "",
    operation: shared.SpanName = "",
    since: shared.Since = "",
    until: shared.Until = "",
    limit: shared.Most = LIMIT,
    header: shared.Headers = None,
    mapping: shared.NamesFile = None,
    correct_clocks: shared.CorrectClocks = False,
    end_to_end: shared.EndToEnd = False,
    against: Annotated[
        str,
        typer.Option(
            metavar="BASELINE",
            help="Traces of a system that is as fast as it should be, from the same time and machine. A limit is "
            "broken only if its figure is also shown to be above theirs.",
            show_default=False,
        ),
    ] = "",
    written: Annotated[CheckFormat, typer.Option("--format", help="How to write the result.")] = CheckFormat.TEXT,
    html: shared.Html = None,
    as_json: shared.AsJson = False,
) -> None:
    """Check limits on times by operation and part.

    Exit code 0 if no limit is broken, 1 if any limit is, 2 if there are too few traces to tell or input was refused.
    """
    from hops.analysis.of_traces import limits
    from hops.tables.of_traces.results import limits_elements

    with shared.reported():
        asked = limits.read_limits(budgets)
        baseline = [against] if against else []
        every = [*sources, *baseline]
        how = shared.read_options(
            every, service, operation, since, until, limit, header, mapping, correct_clocks, end_to_end, html=html
        )
        sets = [shared.read_traces(each, how.query) for each in (sources, baseline) if each]
        rows = limits.check(asked, *(shared.timelines_of(read, how) for read in sets))
        elements = limits_elements(rows)
        shared.write_page(html, "limits", "Do these traces stay within their limits?", elements, *sets)
    if as_json:
        shared.print_json({"limits": [row.as_document() for row in rows]}, *sets)
    elif written is CheckFormat.JUNIT:
        print(junit(rows, [reason for read in sets for reason in read.refused]))
    else:
        shared.show("Limits", elements, shared.Format(written.value), *sets)
    states = {row.state for row in rows}
    if "broken" in states:
        raise typer.Exit(BROKEN)
    if "cannot tell" in states:
        raise typer.Exit(shared.BAD_INPUT)
    shared.end(how, *sets)


def junit(rows: Sequence[Checked], refused: Sequence[str] = ()) -> str:
    """Formats the result as JUnit's XML, with a suite for each operation.

    Limits with too few traces are reported as errors. So is refused input, in a separate suite."""
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
                text = f"{row.measured_ms:.3f} ms, with an interval of {low:.3f} to {high:.3f} ms"
                ElementTree.SubElement(case, "failure", message=text).text = limit.places[-1]
            elif row.state == "cannot tell":
                ElementTree.SubElement(case, "error", message=f"cannot tell: {row.reason}").text = limit.places[-1]
    if refused:
        count = str(len(refused))
        suite = ElementTree.SubElement(
            root, "testsuite", {"name": REFUSED, "tests": count, "failures": "0", "errors": count}
        )
        for number, reason in enumerate(refused, 1):
            case = ElementTree.SubElement(suite, "testcase", classname=REFUSED, name=f"input {number}")
            ElementTree.SubElement(case, "error", message=reason)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)
