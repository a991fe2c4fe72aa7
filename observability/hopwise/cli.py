"""The command line for the whole project; each command is imported only when it is chosen."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from textwrap import wrap
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from hopwise.table import COMMANDS, GROUPS, Command

WIDTH = 100
BAD_INPUT = 2
"""Exit code of a command that failed; 1 is for a check that found something."""
CHECKOUT = "experiment"
"""A package that only a checkout has, not an installed wheel."""
_OF_PAGES = ("polars", "psutil", "scipy", "vl_convert")
"""Packages of the extra `analysis`, which `--html` needs but the figures of the same command do not."""


class OnDemand(TyperGroup):
    """Imports only the command that runs, so that other commands cost no time and need no installed packages."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Finds and imports the command that `args` name; returns it with its arguments."""
        name, stub, rest = super().resolve_command(ctx, args)
        if name not in COMMANDS:
            return name, stub, rest
        try:
            return name, import_command(COMMANDS[name]), rest
        except ModuleNotFoundError as error:
            if ctx.resilient_parsing:  # during completion, which prints nothing
                return name, stub, rest
            raise _not_installed(name, error) from error

    def invoke(self, ctx: Any) -> Any:
        """Runs the command, which may import more."""
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            raise _not_installed(ctx.invoked_subcommand, error) from error

    def format_help(self, _ctx: Any, formatter: Any) -> None:
        """Writes the commands on one screen: commands for traces separately, all others by group."""
        formatter.write_usage("hopwise", "COMMAND [OPTION]...")
        formatter.write_text("See where a request's time goes, hop by hop: from traces to budgets that add up.")
        for group in GROUPS.values():
            with formatter.section(group.title):
                if group is GROUPS["traces"]:
                    formatter.write_dl([(name, command.does) for name, command in group.commands.items()])
                else:
                    self._write_names(formatter, list(group.commands))
        with formatter.section("Help"):
            formatter.write_dl(
                [
                    (f"help {'|'.join(GROUPS)}", "What the commands of a group do"),
                    ("COMMAND --help", "A command's options; --json gives programs what tables give people"),
                    ("--version, --install-completion", "The version; completion for this shell"),
                ]
            )

    @staticmethod
    def _write_names(formatter: Any, names: list[str]) -> None:
        """Writes names in a row; Click would break them at their hyphens."""
        indent = " " * formatter.current_indent
        lines = wrap(", ".join(names), formatter.width - len(indent), break_on_hyphens=False)
        formatter.write("".join(f"{indent}{line}\n" for line in lines))


def import_command(row: Command) -> Any:
    """Imports a command, as if it belonged to a Typer app; raises `ModuleNotFoundError` if a module is missing."""
    module, _, attribute = row.where.partition(":")
    command = getattr(import_module(module), attribute)
    if not isinstance(command, typer.Typer):
        alone = typer.Typer(add_completion=False)
        alone.command(row.name, help=command.__doc__ if row.in_wheel else row.help)(command)
        return typer.main.get_command(alone)
    built: Any = typer.main.get_command(command)
    if not isinstance(built, TyperGroup):
        return built
    return built.commands.get(row.name, built)


def _not_installed(name: str, error: ModuleNotFoundError) -> Exception:
    """Describes the missing modules of a command; returns the error itself if it is a bug in this project."""
    missing = (error.name or "").partition(".")[0]
    if find_spec(missing) is not None:
        return error
    typer.echo(f"error: {name} {_needs(name, missing)}.", err=True)
    return typer.Exit(BAD_INPUT)


def _needs(name: str, missing: str) -> str:
    """Describes what a command needs if its module `missing` is not installed."""
    extra = COMMANDS[name].extra
    if extra == "sets" and missing in _OF_PAGES:
        extra = "analysis"
    if extra == "shop" and find_spec(CHECKOUT) is None:
        return "runs in a checkout of the project, after make setup"
    # The advice names a path: on PyPI, the name belongs to another project.
    install = f"pip install 'PATH[{extra}]'"
    return f"needs {missing}, which is not installed: {install}, with the path of the wheel or of the checkout"


app = typer.Typer(
    cls=OnDemand,
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"max_content_width": WIDTH},
)
for _name, _command in COMMANDS.items():
    app.command(_name, help=_command.does)(lambda: None)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"hopwise {version('hopwise')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="The version.")] = False,
) -> None:
    """See where a request's time goes, hop by hop."""


@app.command("help")
def help_command(
    ctx: typer.Context,
    group: Annotated[str, typer.Argument(metavar="GROUP", help=f"Group: {', '.join(GROUPS)}; or a command.")] = "",
) -> None:
    """Describe the commands of a group."""
    hopwise: Any = ctx.parent.command if ctx.parent else None
    if group not in GROUPS:
        hopwise.main([group, "--help"] if group else ["--help"], prog_name="hopwise")
    width = max(map(len, GROUPS[group].commands))
    typer.echo(f"{GROUPS[group].title}\n")
    for name in GROUPS[group].commands:
        typer.echo(f"  {name:{width}}  {_does(name)}")


def _does(name: str) -> str:
    """Describes what a command does, or what it needs if it cannot be imported."""
    try:
        command = import_command(COMMANDS[name])
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if find_spec(missing) is not None:
            raise
        return f"({_needs(name, missing)})"
    return str(command.get_short_help_str(WIDTH + 60))


def main() -> None:
    """Runs the command `hopwise`."""
    app(prog_name="hopwise")
