"""The command line: `python -m experiment bench|compare|…`."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from hopwise.cli import import_command
from hopwise.table import ROWS

COMMANDS = {row.name: row for row in ROWS if row.runs == (f"experiment {row.name}",)}


class OnDemand(TyperGroup):
    """Imports only the command that runs, so that users do not wait for imports of other commands, e.g. statistics."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Imports the command that `args` name, and returns it with its arguments."""
        name, stub, rest = super().resolve_command(ctx, args)
        return name, import_command(COMMANDS[name]) if name else stub, rest


app = typer.Typer(
    cls=OnDemand,
    help="Measures topologies of the shop under identical load.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for _name, _command in COMMANDS.items():
    app.command(_name, help=_command.help)(lambda: None)
