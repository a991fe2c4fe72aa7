"""A look at the machine before a run: which programs would disturb it, and whether to begin all the same."""

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
"""Seconds to look at other programs for."""


class Preflight:
    """A look that begins with the command, so that reading its options and files is part of the wait."""

    def __init__(self) -> None:
        self._programs = Programs()

    def end(self, said: Iterable[str] = ()) -> None:
        """Names the programs that would make a run NOISY, and asks a person whether to begin.

        In CI nobody waits for an answer, and a trial names such programs anyway.

        Args:
            said: What to say first, such as how long the run will take.

        Raises:
            SystemExit: The person does not want to begin.
        """
        for text in said:
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
        if sys.stdin.isatty() and sys.stderr.isatty() and not typer.confirm("Begin all the same?", True, err=True):
            typer.echo("Nothing was started.", err=True)
            raise SystemExit(0)
