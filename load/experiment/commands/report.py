"""`python -m experiment report`: rebuilds a run's report from its files."""

from __future__ import annotations

import typer

from experiment.commands.options import reported_errors
from experiment.results.folder import RESULTS, find_run
from hops.kinds import make_report
from hops.run.files import SUMMARY, TRIALS
from mesh.description.options import takes_settings

HOLDS = (TRIALS, SUMMARY)
"""Files from which a report can be made. A run that lost its summary still has its trials."""


@takes_settings("report")
def report_command(*, run: str) -> None:
    with reported_errors():
        page, verdict = make_report(find_run(RESULTS, run, holds=HOLDS))
        typer.echo(f"Report:  {page}\n         {verdict}, {page.stat().st_size:,} bytes")
