"""Answers make's questions before anything is installed: which commands exist, which settings they have, and what
their help says.

Run as `python -m experiment.make QUESTION …`; needs only the standard library.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from hopwise.table import TARGETS, Command, Setting
from mesh.description.switches import SWITCHES, settings_of
from mesh.errors import InputError

PAGE = Path("docs/settings.md")
ENVIRONMENT = (
    "SHOP_PORT_BASE, DATABASE_URL, CACHE_URL, JAEGER (release, build), JAEGER_BIN, JAEGER_UI, JAEGER_RELEASES, "
    "KONG_BIN, PROMETHEUS_BIN, KUBECTL_BIN, HOPWISE_CACHE, HOPWISE_MESH_CA"
)
IMAGES = "IMAGE_PREFIX (localhost/hopwise), IMAGE_TAG, IMAGE_ENGINE (podman, docker), IMAGE_BUILD_ARGS, KONG_IMAGE"
"""Environment variables that programs read; make also accepts them as settings."""
_VARIABLES = {*re.findall(r"\b[A-Z_]{5,}\b", f"{ENVIRONMENT} {IMAGES}"), "PYTHON", "MAKEFLAGS", "SHELL"}

ABOUT = "Compare REST, GraphQL, gRPC and hybrids on one shop, and see where the time goes, hop by hop."
FIRST_STEPS = {
    "make bench": "one topology: latencies and hop budget",
    "make trace": "its traces nearest to p50 and p99, in Jaeger",
    "make compare": "topologies under identical load, with a report",
    "make decide": "which topology to choose, by channel",
    "make up": "a running topology to explore in a browser",
    "make status": "what is running",
    "make down": "stop it",
    "make help-bench": "the settings of a target, such as bench",
}
HOW = f"""
Settings: make topology=hybrid profile=smoke bench; make topologies=rest,grpc blocks=5 network=4g compare \
(docs/settings.md)
Environment: {ENVIRONMENT.replace("PORT_BASE", "PORT_BASE (18000)")}.
  images: {IMAGES}"""

_HEADING = re.compile(r"##@ (.+)")
_TARGET = re.compile(r"([a-zA-Z0-9_-]+):.*?## (.+)")


def read_overrides(text: str) -> dict[str, str]:
    """Reads `$(MAKEOVERRIDES)`: NAME=VALUE words, in which blanks and backslashes are escaped and dollars doubled."""
    words = re.findall(r"(?:\\.|[^\\\s])+", text)
    pairs = (re.sub(r"\\(.)|\$(\$)", r"\1\2", word).partition("=") for word in words)
    return {name.rstrip(":+?!"): value for name, _, value in pairs}


def check(goals: str, overrides: str) -> Iterator[str]:
    """Checks that make's goals have the given settings.

    Returns:
        A word for each setting, and a word for each command: its target and prerequisites, separated by vertical bars.

    Raises:
        InputError: A setting is unknown, or a target has no such setting.
    """
    given = read_overrides(overrides)
    known = {setting.name: setting for name in TARGETS for setting in settings_of(name)}
    others = [name for name in given if name not in _VARIABLES]
    for name in others:
        if name not in known:
            valid = f"{' '.join(known)}, and {ENVIRONMENT}, {IMAGES}, PYTHON"
            raise InputError(f"unknown setting: {name}{_nearest(name, known)}; valid: {valid}")
    for goal in goals.split():
        taken = [setting.name for setting in settings_of(goal)] if goal in TARGETS else []
        if taken and (ignored := [name for name in others if name not in taken]):
            why = f" ({TARGETS[goal].no_target})" if "target" in ignored and TARGETS[goal].no_target else ""
            raise InputError(f"{goal} has no setting {' '.join(ignored)}{why}; it has: {' '.join(taken)}")
    yield from (f"={name}" for name in others)
    for name, command in TARGETS.items():
        yield "|".join((f"{name}:", *_prerequisites(command, given)))


def _prerequisites(command: Command, given: Mapping[str, str]) -> Iterator[str]:
    for need in command.needs:
        target, _, condition = need.partition(" if ")
        setting, _, rest = condition.partition("=")
        value, _, or_nothing = rest.partition(" ")
        if not condition or value in given.get(setting, value if or_nothing else "").split(","):
            yield target


def line(name: str, overrides: str) -> str:
    """Returns the shell command line that runs a command with its settings."""
    command, given = TARGETS[name], read_overrides(overrides)
    names = [setting.name for setting in settings_of(name) if given.get(setting.name)]
    options = [word for one in names for word in (f"--{one}", shlex.quote(given[one]))]
    programs = [" ".join((".venv/bin/python -m", program, *options)) for program in command.runs]
    # The last program replaces the shell, so it receives a SIGTERM sent to make, and can clean up.
    programs[-1] = f"exec {programs[-1]}"
    if not command.needs:
        programs.insert(0, '[ -x .venv/bin/python ] || { echo "Nothing is running: nothing is installed."; exit 0; }')
    return "; ".join(programs)


def help_lines(makefiles: str) -> Iterator[str]:
    """Yields the lines of `make help`: the commands, and the targets that the makefiles describe."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for name, command in TARGETS.items():
        groups.setdefault(command.heading, []).append((name, command.does))
    for heading, name, does in targets_of(makefiles):
        groups.setdefault(heading, []).append((name, does))
    yield f"{ABOUT}\n\nFirst steps"
    yield from (f"  {command:28} {does}" for command, does in FIRST_STEPS.items())
    width = max(len(name) for targets in groups.values() for name, _ in targets)
    for heading, targets in groups.items():
        yield f"\n{heading}"
        yield from (f"  {name:{width}} {does}" for name, does in targets)
    yield HOW


def targets_of(makefiles: str) -> Iterator[tuple[str, str, str]]:
    """Yields the targets that makefiles describe: the heading, the name, and what the target does."""
    for path in makefiles.split():
        heading = ""
        for text in Path(path).read_text(encoding="utf-8").splitlines():
            if begins := _HEADING.match(text):
                heading = begins[1]
            elif target := _TARGET.match(text):
                yield heading, target[1], target[2]


def help_of(name: str) -> Iterator[str]:
    """Yields the lines of `make help-NAME`: the settings of a command; raises InputError without settings."""
    settings = settings_of(name) if name in TARGETS else ()
    if not settings:
        having = sorted(target for target in TARGETS if settings_of(target))
        raise InputError(f"{name} has no settings; targets with settings: {' '.join(having)}")
    for setting in settings:
        yield f"  {setting.name:14} {setting.help}{f' [{setting.default}]' if setting.default else ''}"


def unknown(name: str, makefiles: str) -> Iterator[str]:
    """Raises InputError, which names the target most similar to an unknown one."""
    names = [*TARGETS, *(target for _, target, _ in targets_of(makefiles))]
    raise InputError(f"there is no target {name}{_nearest(name, names)}; make help lists all")


def _nearest(name: str, names: Sequence[str] | Mapping[str, object]) -> str:
    nearest = get_close_matches(name, names, n=1)
    return f" (nearest: {nearest[0]})" if nearest else ""


def page() -> str:
    """Returns the text of the page docs/settings.md."""
    targets: dict[Setting, list[str]] = {}
    for target in TARGETS:
        for setting in settings_of(target):
            targets.setdefault(setting, []).append(target)
    lines = [
        "# Settings",
        "",
        "<!-- Made by `make settings` from the table of commands: do not edit. -->",
        "",
        "`make topology=hybrid profile=smoke bench` gives two settings to a target. `make help-bench` prints the",
        "settings of a target; others are refused. Zero needs no unit: `rtt=0` is `rtt=0ms`.",
        "",
        "## Switches",
        "",
        "Switches say how a topology runs; results record all of them. `mesh/mesh/description/switches.py` declares",
        "each once. A target with another default has it in parentheses.",
        "",
        "| switch | default | acts on | what it is | targets |",
        "|---|---|---|---|---|",
    ]
    for switch in SWITCHES.values():
        default = "" if switch.default in ({}, None) else str(switch.default)
        having = [
            target if setting.default in ("", default) else f"{target} ({setting.default})"
            for setting, names in targets.items()
            if setting.name == switch.name
            for target in names
        ]
        lines.append(_row([f"`{switch.name}`", default, switch.layer, switch.help, ", ".join(dict.fromkeys(having))]))
    lines += ["", "## Other settings", "", "| setting | default | what it is | targets |", "|---|---|---|---|"]
    others = sorted((setting for setting in targets if setting.name not in SWITCHES), key=lambda one: one.name)
    lines += [_row([f"`{one.name}`", one.default, one.help, ", ".join(targets[one])]) for one in others]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def write_page(how: str = "") -> Iterator[str]:
    """Writes docs/settings.md; with `--check`, raises InputError instead if the page does not match the table."""
    if how == "--check":
        if PAGE.read_text(encoding="utf-8") != page():
            raise InputError(f"{PAGE} does not match the table of commands: run make settings")
    else:
        PAGE.write_text(page(), encoding="utf-8")
    return iter(())


QUESTIONS: Mapping[str, Callable[..., Iterator[str]]] = {
    "check": check,
    "line": lambda name, overrides: iter([line(name, overrides)]),
    "help": help_lines,
    "help-of": help_of,
    "unknown": unknown,
    "page": write_page,
}


def main(question: str, *arguments: str) -> int:
    """Answers one of make's questions; returns the exit code."""
    try:
        for answer in QUESTIONS[question](*arguments):
            print(answer)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except InputError as error:
        if question == "check":  # make reads this answer and reports it as an error
            print(f"refused {error}")
        else:
            print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
