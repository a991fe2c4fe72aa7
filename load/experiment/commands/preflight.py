"""Checks before a run which programs would disturb it, and asks the user whether to begin nevertheless."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import typer

from experiment.commands.options import in_ci
from experiment.trial.machine_speed import machine_speed, usual_speed
from experiment.trial.programs import Programs
from hops.conclusions.wording import programs_text
from hops.gates.limits import kind_of
from hops.gates.machine_speed import speed_gate

LOOK_S = 2.0
"""Seconds for which other programs are observed."""


def speed_sentences(results: Path) -> Iterator[str]:
    """Says how fast this machine is now, compared with its usual speed in the trials of kept runs."""
    usual, now = usual_speed(results), machine_speed()
    if usual is None:
        yield (
            f"This machine's usual speed is unknown: no kept run measured it. The current speed is {now:.1f} million "
            "rounds of a fixed piece of work per second."
        )
        return
    speed, trials = usual
    off = now / speed - 1
    steady = speed_gate(now, speed)["ok"]
    compared = (
        "as usual" if steady else f"{abs(off):.0%} {'slower' if off < 0 else 'faster'} than usual".replace("%", " %")
    )
    advice = "" if steady else " Expect milliseconds to shift with it, and ratios to shift less."
    yield (
        f"Speed of this machine now: {compared} ({now:.1f} million rounds of a fixed piece of work per second; "
        f"the median of {trials:,} trials of kept runs is {speed:.1f}).{advice}"
    )


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
