"""The command line: `python -m experiment bench|compare|…`."""

from __future__ import annotations

import typer

from experiment.commands.audit import audit_command
from experiment.commands.bench import bench_command
from experiment.commands.capacity import stress_command, sweep_command
from experiment.commands.compare import compare_command
from experiment.commands.compare_runs import compare_runs_command
from experiment.commands.parity import parity_command
from experiment.commands.prove import app as prove
from experiment.commands.report import report_command
from experiment.commands.trace import trace_command

app = typer.Typer(
    help="Measures topologies of the shop under identical load.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

app.command("bench")(bench_command)
app.command("compare")(compare_command)
app.command("sweep")(sweep_command)
app.command("stress")(stress_command)
app.command("compare-runs")(compare_runs_command)
app.command("parity")(parity_command)
app.command("report")(report_command)
app.command("trace")(trace_command)
app.command("audit")(audit_command)
app.add_typer(prove, name="prove")
