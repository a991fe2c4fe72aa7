"""`python -m experiment report`: a run's report, made again from its files."""

from __future__ import annotations

from pathlib import Path

import typer

from experiment.capacity.document import read_capacity
from experiment.capacity.report import write_report
from experiment.commands.options import RunName, reported_errors
from experiment.results.folder import RESULTS, find_run
from hops.commands.report import make_report
from hops.run.files import TRIALS


def report_command(run: RunName = "latest") -> None:
    """Make a run's report.html, report.md and csv/ again from its files, and its summary if it has one."""
    with reported_errors():
        page, valid = _again(run)
        typer.echo(f"Report:  {page}\n         {'VALID' if valid else 'SUSPECT'}, {page.stat().st_size:,} bytes")


def _again(run: str) -> tuple[Path, bool]:
    # A run whose summary was lost is what this command is for.
    folders = [candidate.resolve() for candidate in (RESULTS / run, Path(run)) if candidate.is_dir()]
    for folder in folders:
        document = read_capacity(folder)
        if document is not None:
            return write_report(document, folder)
    folder = next((folder for folder in folders if (folder / TRIALS).is_file()), None) or find_run(RESULTS, run)
    summary, page = make_report(folder)
    return page, summary["valid"]
