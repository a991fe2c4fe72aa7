"""Checks before a run which programs would disturb it, and asks the user whether to begin nevertheless."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable

import typer

from experiment.commands.options import in_ci
from experiment.trial.programs import Programs
from hops.conclusions.wording import programs_text
from hops.gates.limits import kind_of

LOOK_S = 2.0
"""Seconds for which other programs are observed."""


class Preflight:
    """Observes other programs from the start of the command, while its options and files are read."""

    def __init__(self) -> None:
        self._programs = Programs()

    def end(self, lines: Iterable[str] = ()) -> None:
        """Names programs that would make a run NOISY, and asks the user whether to begin.

        In CI it does not ask, because nobody would answer, and because each trial names such programs anyway.

        Args:
            lines: Lines to print first, such as how long the run will take.

        Raises:
            SystemExit: The user does not want to begin.
        """
        for text in lines:
            typer.echo(text, err=True)
        if in_ci():
            return
        time.sleep(max(0.0, LOOK_S - self._programs.lasted_s))
        others, gate = self._programs.name_busy(), kind_of("other_cores")
        if sum(program["cores"] for program in others) < gate.limit:
            return
        typer.echo(
            f"Other programs use the processors: {programs_text(others)}. If they continue, the run will be NOISY "
            f"({gate.text} {gate.limit_text()}).",
            err=True,
        )
        if sys.stdin.isatty() and sys.stderr.isatty() and not typer.confirm("Begin nevertheless?", True, err=True):
            typer.echo("Nothing was started.", err=True)
            raise SystemExit(0)
