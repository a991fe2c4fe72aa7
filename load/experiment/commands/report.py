"""`python -m experiment report`: a run's report, made again from its files."""

from __future__ import annotations

import typer

from experiment.commands.options import reported_errors
from experiment.results.folder import RESULTS, find_run
from hops.kinds import make_report
from hops.run.files import SUMMARY, TRIALS
from mesh.description.options import takes_settings

#: What a report can be made from. A run whose summary was lost is what this command is for.
HOLDS = (TRIALS, SUMMARY)


@takes_settings("report")
def report_command(*, run: str) -> None:
    """The command `report`; `commands.toml` has its help."""
    with reported_errors():
        page, verdict = make_report(find_run(RESULTS, run, holds=HOLDS))
        typer.echo(f"Report:  {page}\n         {verdict}, {page.stat().st_size:,} bytes")
