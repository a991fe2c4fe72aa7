"""`python -m experiment prove`: whether the instrument is right, shown where the truth is known."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.table import Table

from experiment.arguments import checked_seed, whole_number
from experiment.commands.options import Json, console, reported_errors
from experiment.plan.plan import MOST_BLOCKS
from experiment.progress import minutes, shown
from experiment.proofs import delays as delay_proof
from experiment.proofs import resume as resume_proof
from experiment.proofs.delays import HOPS, JOURNEYS, SIZES, FoundDelay
from experiment.proofs.resume import Proof
from experiment.results.folder import RESULTS, read_json, write_json
from experiment.runner import begin, expected_s, run_trials, take_up
from hops.commands.prove import app as simulations
from hops.commands.prove import figures_table, give, with_progress
from hops.run.files import TRIALS
from mesh.paths import RunFolder
from mesh.ports import load_ports
from mesh.topology import load_topology

PROOF = "proof.json"
#: One disturbed trial among sixty would widen all intervals of its delay, so it is repeated once.
RETRY = 1
MOST_KILLS = 100
MOST_KILLED_BLOCKS = 10

app = typer.Typer(no_args_is_help=True, help=__doc__)
app.add_typer(simulations)


@app.command()
def delays(
    hops: Annotated[str, typer.Option(help=f"Components to slow: {', '.join(JOURNEYS)}.")] = ",".join(HOPS),
    sizes: Annotated[str, typer.Option(help="Delays to inject, with commas between: 500us,2ms.")] = ",".join(SIZES),
    blocks: Annotated[str, typer.Option(help="How often each delay runs; at least 3.")] = "4",
    seed: Annotated[str, typer.Option(help="Seed of the tape and the order, an integer ≥ 0.")] = "1",
    resume: Annotated[str, typer.Option(help="Go on with an interrupted proof: latest, or its name.")] = "",
    as_json: Json = False,
) -> None:
    """Inject delays of known size and find them again; fails unless every one is found."""
    with reported_errors():
        if resume:
            folder, plan = take_up(RESULTS, resume, "proof")
        else:
            plan = delay_proof.proof_plan(
                delay_proof.injected(hops, sizes),
                load_topology("hybrid"),
                blocks=whole_number("blocks", blocks, 1, MOST_BLOCKS),
                seed=checked_seed(seed),
            )
            folder = begin(plan, RESULTS)
        injected = delay_proof.delays_of(plan)
        typer.echo(
            f"{len(injected)} delays and {len(plan.arms) - len(injected)} trials without any, {plan.blocks} blocks in "
            f"random order, {minutes(expected_s(plan))}. Leave the machine alone; Ctrl-C keeps what is finished.",
            err=True,
        )

        def conclude() -> tuple[list[FoundDelay], dict[str, Any], Path]:
            rows = delay_proof.judge(folder.path, injected)
            documents = [{**asdict(row), "failed": row.failed, "holds": row.holds} for row in rows]
            proof = {"holds": all(row.holds for row in rows), "rows": documents}
            write_json(folder.path / PROOF, proof)
            return rows, proof, folder.publish(latest=False)

        rows, proof, path = run_trials(plan, folder, load_ports(os.environ), conclude=conclude, retry=RETRY)
        give(proof, delays_view(rows, path), as_json=as_json, console=console())


@app.command("resume")
def resume_command(
    kills: Annotated[str, typer.Option(help=f"How often the experiment is killed: 1 to {MOST_KILLS}.")] = "10",
    blocks: Annotated[str, typer.Option(help=f"Blocks of its two topologies: 1 to {MOST_KILLED_BLOCKS}.")] = "3",
    seed: Annotated[str, typer.Option(help="Seed of the moments, the tape and the order, an integer ≥ 0.")] = "1",
    as_json: Json = False,
) -> None:
    """Kill an experiment at random moments, resume it, and look for what was lost; fails if anything was."""
    with reported_errors():
        number = checked_seed(seed)
        plan = resume_proof.proof_plan(whole_number("blocks", blocks, 1, MOST_KILLED_BLOCKS), number)
        how_often = whole_number("kills", kills, 1, MOST_KILLS)
        run = RunFolder.of(load_ports(os.environ).base)
        folder = begin(plan, RESULTS)
        folder.release()
        log = RESULTS / f"{folder.final.name}.log"
        typer.echo(f"{how_often} kills in {len(plan.trials())} trials; what they say is in {shown(log)}", err=True)
        proof = with_progress(
            "Starts",
            how_often + 1,
            lambda step: resume_proof.prove(plan, folder, run, log, kills=how_often, seed=number, progress=step),
        )
        path = folder.final if folder.final.exists() else folder.existing
        document = {"holds": proof.holds, **asdict(proof)}
        give(document, [*kills_view(proof), f"Results: {shown(path)}"], as_json=as_json, console=console())


def delays_table(rows: Sequence[FoundDelay]) -> Table:
    """A row for each delay."""
    cells = [
        (
            f"{row.component} {row.delay_ms:g}",
            row.journey,
            f"{row.crossings:.2f}",
            f"{row.expected_ms:.3f}",
            f"{row.found_ms:.3f}",
            "{:.3f}..{:.3f}".format(*row.ci95),
            "{:.3f}..{:.3f}".format(*row.ci95_joint),
            "found" if row.holds else "NOT FOUND",
        )
        for row in rows
    ]
    columns = ("delay", "journey", "crossings", "expected", "found", "95 % alone", "95 % together", "verdict")
    title = f"Injected delays, ms: found by hop differences, {len(rows)} at once"
    return figures_table(title, columns, cells, words=("delay", "journey", "verdict"), unbroken=columns)


def delays_view(rows: Sequence[FoundDelay], path: Path) -> list[RenderableType]:
    """Which delays were found, for people.

    Args:
        rows: of `judge`.
        path: of the results.
    """
    trials = [trial for trial in read_json(path / TRIALS)["trials"] if trial["used"]]
    suspect = sum(not trial["valid"] for trial in trials)
    alone = sum(row.agrees(row.ci95) for row in rows)
    noisy = f"{suspect} of {len(trials)} trials are SUSPECT: the machine was not quiet, the intervals are wide."
    return [
        delays_table(rows),
        *(f"{row.component} {row.delay_ms:g}: {'; '.join(row.failed)}." for row in rows if not row.holds),
        f"{sum(row.holds for row in rows)} of {len(rows)} delays found at the component that has them, with"
        f" their size inside the interval; {alone} of {len(rows)} inside the interval of the row alone.",
        *([noisy] if suspect else []),
        f"Results: {shown(path)}",
    ]


def kills_view(proof: Proof) -> list[RenderableType]:
    """A row for each kill and one for the end, what is wrong with the whole, and the verdict."""
    rows = [
        (
            "end" if kill is proof.kills[-1] and kill.finished == proof.planned else str(kill.number),
            f"{kill.after_s:.1f} s",
            kill.doing,
            f"{kill.finished} of {proof.planned}",
            "WRONG: " + "; ".join(kill.wrong) if kill.wrong else "as it should be",
        )
        for kill in proof.kills
    ]
    title = f"An experiment of {proof.planned} trials, killed {len(proof.kills) - 1} times with SIGKILL"
    columns = ("kill", "after", "it had said last", "finished", "what is left")
    verdict = (
        f"All {proof.planned} trials are there, each once and of one tape; every finished one is as it was, "
        "byte for byte, and no process outlived a kill."
        if proof.holds
        else "The experiment did not survive being killed."
    )
    table = figures_table(title, columns, rows, words=("it had said last", "what is left"), unbroken=("after",))
    return [table, *(f"WRONG: {wrong}" for wrong in proof.wrong), verdict]
