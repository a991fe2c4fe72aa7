"""Reads `commands.toml`, the one table of commands for make, `hopwise` and the programs' command lines.

make reads the table before anything is installed, so this module uses only the standard library.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).with_name("commands.toml")
ALL_SWITCHES = "*"


class Setting(NamedTuple):
    """A setting of a command: `make name=value`, and option `--name`; its default is empty if the help describes it."""

    name: str
    default: str
    help: str


class SwitchSetting(NamedTuple):
    """A switch, or `ALL_SWITCHES`, as a setting; None as its default means the switch's own."""

    name: str
    default: str | None


@dataclass(frozen=True)
class Command:
    """A row of the table.

    Attributes:
        where: Module and name of its function, or of a `Typer` that has a command of this name.
        runs: Programs that `python -m` runs for make, in sequence; by default that of `where`, with the name without
            `prove-`.
        needs: Targets that make builds first. `TARGET if NAME=VALUE` is built only if that setting has that value, or
            one of several with commas between them; with `or nothing` also if the setting is not given.
        by: Which of `make` and `hopwise` have a command of this name, or `both`.
        no_target: Why the command measures only the shop, not a user's target; empty if that is obvious.
        extra: The package's extra with the command's dependencies.
    """

    name: str
    heading: str
    does: str
    where: str
    ends: str = ""
    settings: tuple[Setting | SwitchSetting, ...] = ()
    runs: tuple[str, ...] = ()
    needs: tuple[str, ...] = ("setup",)
    by: str = "both"
    no_target: str = ""
    extra: str = "shop"

    @property
    def in_wheel(self) -> bool:
        """Whether the command is installed without a checkout."""
        return self.where.startswith("hops.")

    @property
    def help(self) -> str:
        """What the command does and how it ends."""
        return f"{self.does}. {self.ends}".strip()


def read_table(text: str) -> list[Command]:
    """Reads the rows of the table, in the order in which the help lists them."""
    document = tomllib.loads(text)
    shared = {name: Setting(*setting) for name, setting in document.pop("settings").items()}
    commands = []
    for heading, rows in document.items():
        defaults = rows.pop("defaults", {})
        commands += [_command(name, heading, shared, {**defaults, **row}) for name, row in rows.items()]
    return commands


def _command(name: str, heading: str, shared: Mapping[str, Setting], row: dict[str, Any]) -> Command:
    program = row["where"].partition(".")[0]
    row |= {
        "settings": tuple(_settings(row.get("settings", ()), shared)),
        "runs": tuple(row.get("runs", (f"{program} {name.removeprefix('prove-')}",))),
        "needs": tuple(row.get("needs", Command.needs)),
    }
    return Command(name, heading, **row)


def _settings(row: list[Any], shared: Mapping[str, Setting]) -> Iterator[Setting | SwitchSetting]:
    """Reads a row's settings: shared settings (`NAME` or `NAME=default`), switches (`tls trace=0`), and others."""
    for entry in row:
        if not isinstance(entry, str):
            yield Setting(*entry)
        elif entry.partition("=")[0] in shared:
            name, has_default, default = entry.partition("=")
            yield shared[name]._replace(default=default) if has_default else shared[name]
        else:
            for switch in entry.split():
                name, has_default, default = switch.partition("=")
                yield SwitchSetting(name, default if has_default else None)


ROWS = read_table(FILE.read_text(encoding="utf-8"))
TARGETS = {row.name: row for row in ROWS if row.by != "hopwise"}
"""The commands of make."""
COMMANDS = {row.name: row for row in ROWS if row.by != "make"}
"""The commands of `hopwise`."""


@dataclass(frozen=True)
class Group:
    """A group of commands in the help of `hopwise`: its title, and the headings of its commands in the table."""

    title: str
    headings: tuple[str, ...]

    @property
    def commands(self) -> Mapping[str, Command]:
        """The commands, by name."""
        return {name: command for name, command in COMMANDS.items() if command.heading in self.headings}


GROUPS = {
    "traces": Group("Traces of any services", ("Traces",)),
    "measure": Group("Measure a shop or, with load, your own target", ("Measure",)),
    "run": Group("Run it", ("Run", "Kubernetes", "Compose")),
    "prove": Group("Prove figures", ("Prove",)),
}
"""The groups of commands, by name."""
