"""`make prove-resume`: an experiment that is killed again and again loses nothing."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from experiment.arguments import checked_seed, whole_number
from experiment.commands.options import Json, console, reported_errors
from experiment.progress import shown
from experiment.proofs.resume import Proof, proof_plan, prove
from experiment.results.folder import RESULTS
from experiment.runner import begin
from hops.terminal.tables import table_titled
from mesh.paths import RunFolder
from mesh.ports import load_ports

MOST_KILLS = 100
MOST_BLOCKS = 10


def prove_resume_command(
    kills: Annotated[str, typer.Option(help=f"How often it is killed: 1 to {MOST_KILLS}.")] = "10",
    blocks: Annotated[str, typer.Option(help=f"Of its two topologies: 1 to {MOST_BLOCKS}.")] = "3",
    seed: Annotated[str, typer.Option(help="Of the moments, the tape and the order.")] = "1",
    as_json: Json = False,
) -> None:
    """Kill an experiment at random moments, resume it, and look for what was lost. Exit code 1 if anything was."""
    with reported_errors():
        number = checked_seed(seed)
        plan = proof_plan(whole_number("blocks", blocks, 1, MOST_BLOCKS), number)
        how_often = whole_number("kills", kills, 1, MOST_KILLS)
        ports = load_ports(os.environ)
        folder = begin(plan, RESULTS)
        folder.release()
        log = RESULTS / f"{folder.final.name}.log"
        typer.echo(f"{how_often} kills in {len(plan.trials())} trials; what they say is in {shown(log)}", err=True)
        proof = prove(plan, folder, RunFolder.of(ports.base), log, kills=how_often, seed=number)
        if as_json:
            typer.echo(json.dumps({"holds": proof.holds, **asdict(proof)}))
        else:
            _show(proof)
            console().print(Text(f"Results: {shown(folder.final if folder.final.exists() else folder.existing)}"))
        if not proof.holds:
            raise SystemExit(1)


def kills_table(proof: Proof) -> Table:
    """A row for each kill, and one for the end."""
    table = table_titled(f"An experiment of {proof.planned} trials, killed {len(proof.kills) - 1} times with SIGKILL")
    table.add_column("kill", justify="right")
    table.add_column("after", justify="right", no_wrap=True)
    table.add_column("it had said last")
    table.add_column("finished", justify="right")
    table.add_column("what is left")
    for kill in proof.kills:
        last = kill is proof.kills[-1] and kill.number == len(proof.kills)
        ended = "end" if last and kill.finished == proof.planned else str(kill.number)
        table.add_row(
            ended,
            f"{kill.after_s:.1f} s",
            Text(kill.doing),
            f"{kill.finished} of {proof.planned}",
            "WRONG: " + "; ".join(kill.wrong) if kill.wrong else "as it should be",
        )
    return table


def _show(proof: Proof) -> None:
    out = console()
    out.print(kills_table(proof))
    for wrong in proof.wrong:
        out.print(Text(f"WRONG: {wrong}"))
    if proof.holds:
        out.print(
            Text(
                f"All {proof.planned} trials are there, each once and of one tape; every finished one is as it was, "
                "byte for byte, and no process outlived a kill."
            )
        )
