"""`make settings`: settings.mk and docs/settings.md, from the options of the commands that make's targets run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup, TyperOption

from experiment.commands.options import reported_errors
from experiment.errors import UsageError
from experiment.kinds import KINDS
from mesh.description.switches import SWITCHES
from mesh.paths import ROOT

MAKE = Path("settings.mk")
PAGE = Path("docs/settings.md")

TARGETS: Mapping[str, tuple[str, ...]] = {
    **{name: ("experiment.cli", name) for name in (*KINDS, "parity", "conformance", "report", "trace", "audit")},
    **{
        f"prove-{name}": ("experiment.cli", "prove", name)
        for name in (
            "meetings",
            "observer",
            "siblings",
            "delays",
            "what-if",
            "queues",
            "account",
            "conformance",
            "resume",
        )
    },
    "prove-statistics": ("experiment.cli", "prove", "coverage"),
    "prove-cache": ("chaos.prove_cache",),
    "prove-fairness": ("chaos.prove_fairness",),
    "fuzz": ("fuzz.__main__",),
    "prove-sagas": ("chaos.prove_sagas", "kill"),
    **{name: ("mesh.cli", name) for name in ("up", "manifests", "compose")},
}
"""The command behind each target that has settings: its module, and its name there."""


@dataclass(frozen=True)
class Setting:
    """A setting of a target.

    Attributes:
        name: Its name.
        default: What holds if it is not given; empty for what its help says.
        help: What it is.
    """

    name: str
    default: str
    help: str


def settings_command(
    check: Annotated[bool, typer.Option("--check", help="Write nothing, and fail if the files are not these.")] = False,
) -> None:
    """The command `settings`; `experiment.cli` has its help."""
    with reported_errors():
        settings = {target: settings_of(*where) for target, where in TARGETS.items()}
        files = {MAKE: makefile(settings), PAGE: page(settings)}
        if check:
            stale = [str(path) for path, text in files.items() if not _has(ROOT / path, text)]
            if stale:
                raise UsageError(f"{' and '.join(stale)} are not what the commands' options give: run make settings")
            return
        for path, text in files.items():
            (ROOT / path).write_text(text, encoding="utf-8")


def settings_of(module: str, *names: str) -> Sequence[Setting]:
    """The options of a command that take a value.

    Args:
        module: Module of its application, `app`.
        names: Its name, and before it that of its group.
    """
    command: Any = typer.main.get_command(import_module(module).app)
    rest = list(names)
    while rest and isinstance(command, TyperGroup):
        _, command, rest = command.resolve_command(typer.Context(command), rest)
    return list(_settings(command))


def _settings(command: Any) -> Iterator[Setting]:
    for option in command.params:
        if isinstance(option, TyperOption) and not option.is_flag:
            name = option.opts[0].removeprefix("--")
            own = SWITCHES[name].default if name in SWITCHES and option.default is None else option.default
            yield Setting(name, _text(own), (option.help or "").strip())


def makefile(settings: Mapping[str, Sequence[Setting]]) -> str:
    """The lists of settings.mk, and the lines that `make help-TARGET` prints."""
    names = dict.fromkeys(setting.name for listed in settings.values() for setting in listed)
    lines = ["# Made by `make settings` from the options of the commands: do not edit.", ""]
    lines += [f"SETTINGS_{target} := {' '.join(one.name for one in listed)}" for target, listed in settings.items()]
    lines += ["", f"SETTINGS := {' '.join(names)}", ""]
    for target, listed in settings.items():
        lines += [f"#? {target} {one.name} {_quoted(one.default)} {one.help}" for one in listed]
    return "\n".join(lines) + "\n"


def page(settings: Mapping[str, Sequence[Setting]]) -> str:
    """The page docs/settings.md."""
    lines = [
        "# Settings",
        "",
        "<!-- Made by `make settings` from the options of the commands: do not edit. -->",
        "",
        "`make topology=hybrid profile=smoke bench` gives two settings to a target. `make help-bench` prints those",
        "that a target has; others are refused. Zero needs no unit: `rtt=0` is `rtt=0ms`.",
        "",
        "## Switches",
        "",
        "How a topology is run; results record all of them. `mesh/mesh/description/switches.py` declares each once.",
        "",
        "| switch | default | acts on | what it is | targets |",
        "|---|---|---|---|---|",
    ]
    targets: dict[Setting, list[str]] = {}
    for target, listed in settings.items():
        for one in listed:
            targets.setdefault(one, []).append(target)
    for switch in SWITCHES.values():
        taken_by = [target for one, names in targets.items() if one.name == switch.name for target in names]
        cells = [
            f"`{switch.name}`",
            _text(switch.default),
            switch.layer,
            switch.help,
            ", ".join(dict.fromkeys(taken_by)),
        ]
        lines.append(_row(cells))
    lines += ["", "## Other settings", "", "| setting | default | what it is | targets |", "|---|---|---|---|"]
    others = sorted((one for one in targets if one.name not in SWITCHES), key=lambda one: one.name)
    lines += [_row([f"`{one.name}`", one.default, one.help, ", ".join(targets[one])]) for one in others]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _text(default: object) -> str:
    return "" if default is None or default == {} else str(default)


def _quoted(default: str) -> str:
    """A default as one word of a line; `-` for none."""
    return default.replace(" ", "_") or "-"


def _has(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text
