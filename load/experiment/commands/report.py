"""`python -m experiment report`: a run's report, made again from its files."""

from __future__ import annotations

import typer

from experiment.capacity.document import read_capacity
from experiment.capacity.report import write_report
from experiment.commands.options import RunName, reported_errors
from experiment.results.folder import RESULTS, find_run
from hops.commands.report import make_report
from hops.run.files import SUMMARY, TRIALS

#: What a report can be made from. A run whose summary was lost is what this command is for.
HOLDS = ("sweep.json", "stress.json", TRIALS, SUMMARY)


def report_command(run: RunName = "latest") -> None:
    """The command `report`; `experiment.cli` has its help."""
    with reported_errors():
        folder = find_run(RESULTS, run, holds=HOLDS)
        document = read_capacity(folder)
        if document is None:
            summary, page = make_report(folder)
            valid = summary["valid"]
        else:
            page, valid = write_report(document, folder)
        typer.echo(f"Report:  {page}\n         {'VALID' if valid else 'SUSPECT'}, {page.stat().st_size:,} bytes")
