"""`python -m hops`: compute hop budgets of traces and reports of runs."""

from __future__ import annotations

import typer

from hops.commands.budget import budget, rows
from hops.commands.check import check
from hops.commands.compare_traces import compare_traces
from hops.commands.report import report_command
from hops.commands.what_if import what_if

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__, pretty_exceptions_enable=False)
app.command()(budget)
app.command()(rows)
app.command("what-if")(what_if)
app.command()(check)
app.command("compare-traces")(compare_traces)
app.command("report")(report_command)


if __name__ == "__main__":
    app()
