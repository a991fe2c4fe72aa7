"""Runs the bench of encodings: `python -m serialisation`."""

from __future__ import annotations

import gc
import json
import os
import sys
from typing import Annotated

import typer

from experiment.commands.options import console, reported_errors
from experiment.progress import Progress
from hops.terminal.render import render
from mesh.description.options import Json
from mesh.description.ports import load_ports
from serialisation.answers import real_answers
from serialisation.bench import bench
from serialisation.go_half import GoHalf
from serialisation.rounds import MIN_ROUNDS

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def serialisation(
    *,
    rounds: Annotated[int, typer.Option(help="Number of rounds.", min=MIN_ROUNDS, max=1000)] = 10,
    seconds: Annotated[float, typer.Option(help="Approximate length of all rounds together.", min=1, max=3600)] = 75,
    seed: Annotated[int, typer.Option(help="Seed of the answers and of the rounds' orders.", min=0)] = 1,
    as_json: Json = False,
) -> None:
    """Measure how long each journey's answer takes to encode and decode in each encoding, and its bytes."""
    with reported_errors():
        say = Progress()
        say("computing an answer of each journey from the seeded data")
        answers = real_answers(load_ports(os.environ), os.environ, seed)
        with GoHalf(answers) as go:
            gc.freeze()  # the objects that exist already belong to no answer
            result = bench(answers, go, rounds=rounds, seconds=seconds, seed=seed, say=say)
    if as_json:
        json.dump(result.as_dicts(), sys.stdout)
        print()
    else:
        console().print(render(result.tables()))


if __name__ == "__main__":
    app()
