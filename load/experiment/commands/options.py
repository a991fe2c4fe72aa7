"""Code shared by the commands of `python -m experiment`: how they report errors, and how a run ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console
from rich.style import Style
from rich.text import Text

from experiment.arguments import choice
from experiment.progress import short_path
from hops.errors import HopsError
from hops.run.documents.gate import NOISY, WRONG, Verdict
from hops.terminal.console import terminal
from mesh.supervisor.reporting import reported

DOUBTFUL = 3
"""Exit code of a finished run that is WRONG, or NOISY with `strict=on`."""
UNCHECKED = 1
"""Exit code if no figure could be compared with a given threshold."""
WIDTH_OF_A_PIPE = 110


@contextmanager
def reported_errors() -> Iterator[None]:
    """Turns errors that a user can cause into a line on standard error and an exit code."""
    with reported():
        try:
            yield
        except HopsError as error:
            print(f"error: {error}", file=sys.stderr)
            raise SystemExit(1) from error


def console() -> Console:
    """Returns the console for tables: as wide as the terminal, or 110 columns in a pipe."""
    return terminal(width=None if sys.stdout.isatty() else WIDTH_OF_A_PIPE)


def print_file(file: Path) -> None:
    """Prints a JSON file of a run unchanged, for `--json`."""
    typer.echo(file.read_text(encoding="utf-8"), nl=False)


def print_seconds(out: Console, folder: Path) -> None:
    """Prints how a run's trials spent their time."""
    # Tables take a while to import, so wrong options are reported before these imports.
    from hops.elements.compared import TARGET, TOPOLOGY
    from hops.run.files import MANIFEST, TRIALS, read_document
    from hops.run.switches import is_of_the_shop
    from hops.tables.seconds import seconds_table
    from hops.terminal.render import render

    trials, manifest = read_document(folder / TRIALS)["trials"], read_document(folder / MANIFEST)
    compared = TOPOLOGY if is_of_the_shop(manifest) else TARGET
    out.print(render([seconds_table(trials, manifest, compared)]))


def print_links(out: Console, folder: Path) -> None:
    """Prints where a run's report is: as a link on a terminal, as a URL elsewhere."""
    page = (folder / "report.html").resolve()
    place = Text(short_path(page), Style(link=page.as_uri())) if out.is_terminal else Text(page.as_uri())
    out.print(Text.assemble("Report:  ", place), soft_wrap=True)


def print_places(out: Console, folder: Path) -> None:
    """Prints where a run's results and its report are."""
    out.print(f"Results: {short_path(folder)}")
    out.print(f"Report:  {short_path(folder / 'report.html')}")


def is_strict(given: str | None) -> bool:
    """Returns whether NOISY runs exit with an error, as `strict` says or, without it, only in CI."""
    if given is None:
        return in_ci()
    return is_on("strict", given)


def in_ci() -> bool:
    """Returns whether the command runs in CI, where nobody can answer questions."""
    return os.environ.get("CI") == "true"


def is_on(name: str, given: str) -> bool:
    """Returns whether an option is on; raises UsageError if it is neither on nor off."""
    return choice(name, given, ("on", "off")) == "on"


def is_doubtful(verdict: Verdict, *, strict: bool) -> bool:
    """Returns whether a run with this verdict exits with an error."""
    return verdict == WRONG or (strict and verdict == NOISY)


def end(verdict: Verdict, *, strict: bool, why: str = "") -> None:
    """Says that the run is finished, and why; exits with code 3 if the run is WRONG or, with `strict`, NOISY."""
    because = " strict=on makes the exit code 3." if strict and verdict == NOISY else ""
    typer.echo(f"Finished. {why or f'{verdict}.'}{because}", err=True)
    if is_doubtful(verdict, strict=strict):
        raise SystemExit(DOUBTFUL)
