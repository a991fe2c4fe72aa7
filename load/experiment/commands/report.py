"""`python -m experiment report`: a run's report, made again from its files."""

from __future__ import annotations

from pathlib import Path

import typer

from experiment.commands.options import RunName, reported_errors
from experiment.results.folder import RESULTS, find_run
from hops.commands.report import make_report
from hops.run.files import TRIALS


def report_command(run: RunName = "latest") -> None:
    """Make a run's summary, report.html, report.md and csv/ again from its files."""
    with reported_errors():
        summary, page = make_report(_folder(run))
        typer.echo(
            f"Report:  {page}\n         {'VALID' if summary['valid'] else 'SUSPECT'}, {page.stat().st_size:,} bytes"
        )


def _folder(run: str) -> Path:
    # A run whose summary was lost is what this command is for.
    for candidate in (RESULTS / run, Path(run)):
        if (candidate / TRIALS).is_file():
            return candidate.resolve()
    return find_run(RESULTS, run)
