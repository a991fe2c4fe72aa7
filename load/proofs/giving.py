"""Shows the progress and the outcome of a proof."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from hops.elements.element import Element
from hops.terminal.console import terminal
from hops.terminal.render import render

Result = TypeVar("Result")


def with_progress(what: str, total: int, work: Callable[[Callable[[int], None]], Result]) -> Result:
    """Runs a proof under a progress bar on standard error.

    Args:
        what: Noun for the counted steps.
        total: Number of steps.
        work: Runs the proof; calls its argument with the number of finished steps.
    """
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=terminal(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        return work(lambda done: bar.update(task, completed=done))


def give(
    proof: Mapping[str, Any], elements: Sequence[Element], *, as_json: bool, console: Console | None = None
) -> None:
    """Ends a proof: prints it, and exits with 1 unless it holds.

    Args:
        proof: Result for programs; `holds` says whether the proof holds.
        elements: Result for people: tables, notes and a verdict.
        as_json: Whether to print for programs.
        console: Console for people; the terminal by default.
    """
    if as_json:
        print(json.dumps(proof, indent=2))
    else:
        (console or terminal()).print(render(elements))
    if not proof["holds"]:
        raise typer.Exit(1)
