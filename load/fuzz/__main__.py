"""`make fuzz`, `python -m fuzz`: exit code 0 if no input failed."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import typer

from experiment.arguments import checked_seed, choices, number_in
from experiment.commands.options import console
from experiment.progress import short_path
from fuzz.inputs import read_kept
from fuzz.judge import CLASSES
from fuzz.run import PLACES, SURFACES, Budget, Outcome, fuzz, open_place
from hops.elements.table import Column, Table, whole, words
from hops.terminal.render import render
from mesh.description.options import Json, takes_settings
from mesh.description.ports import Ports, load_ports
from mesh.errors import InputError
from mesh.paths import RunFolder
from mesh.supervisor.reporting import reported

MIN_MINUTES, MAX_MINUTES = 0.1, 24 * 60.0

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
@takes_settings("fuzz")
def command(*, minutes: str, surfaces: str, seed: str, again: str, as_json: Json = False) -> None:
    """Send bad inputs to the shop and to the harness. Exit code 1 if an input failed."""
    with reported():
        chosen = choices("surfaces", surfaces, SURFACES)
        length = number_in("minutes", minutes, MIN_MINUTES, MAX_MINUTES, "minutes")
        ports = load_ports(os.environ)
        folder = RunFolder.of(ports.base)
        if again:
            result = send_again(Path(again), ports, folder)
            typer.echo(json.dumps(result, indent=2))
            raise SystemExit(1 if result["wrong"] else 0)
        outcome = Outcome(checked_seed(seed), folder.path / "fuzz")
        try:
            fuzz(outcome, Budget(seconds=length * 60), ports, folder, _say, chosen)
        finally:
            # A stopped run reports its partial results too.
            _say("")
            if as_json:
                typer.echo(json.dumps(outcome.as_dict(), indent=2))
            elif outcome.inputs:
                _print(outcome)
    raise SystemExit(1 if outcome.failures else 0)


def send_again(file: Path, ports: Ports, folder: RunFolder) -> dict[str, Any]:
    """Sends an input that an earlier run kept, and returns the result."""
    one, name, surface = read_kept(file)
    if name not in PLACES or surface not in PLACES[name]:
        raise InputError(f"again={file} has the place {name} and the surface {surface}, which are unknown")
    with open_place(name, ports, folder) as place:
        ((kind, wrong, answer),) = place.try_inputs(surface, [one])
        return {"class": kind, "wrong": wrong or place.wrong(), "answer": answer}


def _say(what: str) -> None:
    """Shows the current step on a terminal, in a line that the next step overwrites."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{what}", end="", file=sys.stderr, flush=True)
    elif what.startswith("starting"):
        print(what, file=sys.stderr)


def _print(outcome: Outcome) -> None:
    columns = [Column("surface", numeric=False), *map(Column, ("inputs", *CLASSES, "failed"))]
    rows = []
    for name, counts in outcome.counts.items():
        figures = (counts.total(), *(counts[kind] for kind in CLASSES), outcome.count_failures(name))
        rows.append([words(name), *map(whole, figures)])
    out = console()
    out.print(render([Table("fuzz", f"{outcome.inputs:,} bad inputs, seed {outcome.seed}", columns, rows)]))
    for failure in outcome.failures:
        out.print(f"FAILED {failure.count:,} times {failure.surface}: {failure.what}", style="red", soft_wrap=True)
        shown = " ".join(short_path(Path(file)) for file in failure.files)
        out.print(f"  first case {failure.case}, kept in {shown}", soft_wrap=True)
    if outcome.failures:
        out.print("Send one again: make fuzz again=FILE")


if __name__ == "__main__":
    app()
