"""The frame of every proof: its settings, its progress, its output and its exit code."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from experiment.commands.options import console, reported_errors
from hops.elements.element import Element, Text
from hops.terminal.console import terminal
from hops.terminal.render import render
from mesh.description.options import takes_settings

Result = TypeVar("Result")
Progress = Callable[[int], None]
"""Called with the number of finished steps."""


def proves(command: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Turns a function into the command that a row of `commands.toml` describes, with messages for users' errors."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def report(**given: Any) -> None:
            with reported_errors():
                function(**given)

        return takes_settings(command)(report)

    return decorate


def with_progress(what: str, total: int, work: Callable[[Progress], Result]) -> Result:
    """Runs a proof under a progress bar on standard error; `what` is a noun for the counted steps."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=terminal(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        return work(lambda done: bar.update(task, completed=done))


def show(document: Mapping[str, Any], elements: Sequence[Element], *, as_json: bool) -> None:
    """Prints a result: the document for programs, or the elements for people."""
    if as_json:
        print(json.dumps(document, indent=2))
    else:
        console().print(render(elements))


def give(document: Mapping[str, Any], elements: Sequence[Element], *, as_json: bool) -> None:
    """Ends a proof: prints it, and exits with 1 unless the document's `holds` is true."""
    show(document, elements, as_json=as_json)
    if not document["holds"]:
        raise typer.Exit(1)


def conclude(holds: bool, held: str, failed: str) -> Text:
    """Chooses the sentence that says whether a proof holds."""
    return Text(held if holds else failed, tone="verdict")
