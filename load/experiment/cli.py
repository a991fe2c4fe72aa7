"""The command line: `python -m experiment bench|compare|…`."""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

import typer
from typer.core import TyperGroup

from experiment.kinds import KINDS

#: Where each command is: a function, or the `Typer` of a group; and what it does.
COMMANDS = {
    **{name: (f"kinds.{where}:command", does) for name, (where, does) in KINDS.items()},
    "load": (
        "kinds.load:command",
        "Load a target of your own, as its file says, at this machine's addresses. Exit code 3 if WRONG.",
    ),
    "parity": (
        "commands.parity:parity_command",
        "Check each topology's answers against the data, and that all topologies' writes have the same effect.",
    ),
    "conformance": (
        "commands.conformance:conformance_command",
        "Run the services' own tests against a program that stands in for one of them. Exit code 1 if one fails.",
    ),
    "report": (
        "commands.report:report_command",
        "Rebuild a run's summary, report.html, report.md and csv/ from its files.",
    ),
    "trace": (
        "commands.trace:trace_command",
        "Print a run's exemplar traces (nearest to p50 and p99) and serve them in Jaeger.",
    ),
    "audit": (
        "commands.audit:audit_command",
        "Check the shop's invariants in the topology that is up or in a run's last data. Exit code 1 if one fails.",
    ),
    "settings": (
        "settings:settings_command",
        "Write settings.mk and docs/settings.md from the options of the commands.",
    ),
    "prove": ("commands.prove:app", "Check the instrument where the truth is known."),
}


class OnDemand(TyperGroup):
    """Imports the command that runs, so that nobody waits for what the others import, statistics among it."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that `args` name, imported, and its own arguments."""
        name, stub, rest = super().resolve_command(ctx, args)
        return name, _imported(name) if name else stub, rest


def _imported(name: str) -> Any:
    where, help_text = COMMANDS[name]
    module, _, attribute = where.partition(":")
    command = getattr(import_module(f"experiment.{module}"), attribute)
    alone = typer.Typer(add_completion=False)
    if isinstance(command, typer.Typer):
        alone.add_typer(command, name=name, help=help_text)
        return cast("TyperGroup", typer.main.get_command(alone)).commands[name]
    alone.command(name, help=help_text)(command)
    return typer.main.get_command(alone)


app = typer.Typer(
    cls=OnDemand,
    help="Measures topologies of the shop under identical load.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for _name, (_where, _help) in COMMANDS.items():
    app.command(_name, help=_help)(lambda: None)
