"""`python -m proofs`: checks the instrument where the truth is known, and measures its speed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from experiment.arguments import checked_seed, whole_number
from experiment.blocks import expected_s
from experiment.commands.options import console, reported_errors
from experiment.generator.shopload import BINARY, Shopload
from experiment.plan.arms_in_blocks import MAX_BLOCKS, Plan
from experiment.plan.resume import take_up
from experiment.plan.workload import workload_file
from experiment.progress import minutes, short_path
from experiment.results.folder import RESULTS, ResultsFolder, find_run, write_json
from experiment.runner import begin, run_trials
from hops.elements.element import Text
from hops.run.files import SUMMARY, TRIALS, read_run
from mesh.description.options import Json, takes_settings
from mesh.description.ports import load_ports
from mesh.description.topology import load_topology
from mesh.paths import RunFolder
from proofs import account as account_proof
from proofs import delays as delay_proof
from proofs import queues as queue_proof
from proofs import resume as resume_proof
from proofs import what_if as what_if_proof
from proofs.account import MAX_PAIRS, MIN_PAIRS, account_table
from proofs.budget_speed import benchmark, benchmark_budgets_command
from proofs.delays import FoundDelay, delays_view
from proofs.giving import give, with_progress
from proofs.observer import observer_view, prove_observer
from proofs.on_synthetic_data import app as simulations
from proofs.queues import FoundQueue, queues_table
from proofs.resume import kills_view
from proofs.seeded_faults import prove_conformance_command
from proofs.versions import prove_versions, versions_view
from proofs.what_if import PredictedFigure, predictions_view

PROOF = "proof.json"
RETRY = 1
"""Times to repeat a trial: one disturbed trial among sixty would widen all intervals of its delay."""
MAX_KILLS = 100
MAX_KILLED_BLOCKS = 10

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Check the instrument where the truth is known.")
app.add_typer(simulations)
app.command("conformance")(prove_conformance_command)
app.command()(benchmark)
app.command("benchmark-budgets")(benchmark_budgets_command)


def _begin_or_resume(resume: str, make_plan: Callable[[], Plan]) -> tuple[ResultsFolder, Plan]:
    """Returns the folder and plan of a new proof, or of an interrupted one."""
    if resume:
        return take_up(RESULTS, resume, "proof")
    plan = make_plan()
    return begin(plan, RESULTS), plan


def _document(rows: Sequence[FoundDelay | FoundQueue]) -> dict[str, Any]:
    """Returns the JSON document of a proof that judges rows."""
    documents = [{**asdict(row), "failed": row.failed, "holds": row.holds} for row in rows]
    return {"holds": all(row.holds for row in rows), "rows": documents}


@app.command()
@takes_settings("prove-delays")
def delays(
    *,
    hops: str,
    sizes: str,
    blocks: str,
    seed: str,
    resume: str,
    as_json: Json = False,
) -> None:
    """Inject known delays and check that the hop budgets show them; fails unless every one is found."""
    with reported_errors():
        folder, plan = _begin_or_resume(
            resume,
            lambda: delay_proof.proof_plan(
                delay_proof.parse_delays(hops, sizes),
                load_topology("hybrid"),
                blocks=whole_number("blocks", blocks, 1, MAX_BLOCKS),
                seed=checked_seed(seed),
            ),
        )
        injected = delay_proof.delays_of(plan)
        typer.echo(
            f"{len(injected)} delays and {len(plan.arms) - len(injected)} trials without any, {plan.blocks} blocks in "
            f"random order, {minutes(expected_s(plan))}. Leave the machine idle until then; Ctrl-C keeps finished "
            "trials.",
            err=True,
        )

        def conclude() -> tuple[list[FoundDelay], dict[str, Any], Path]:
            rows = delay_proof.judge(folder.path, injected)
            proof = _document(rows)
            write_json(folder.path / PROOF, proof)
            return rows, proof, folder.publish(latest=False)

        rows, proof, path = run_trials(plan, folder, load_ports(os.environ), conclude=conclude, retry=RETRY)
        give(proof, delays_view(rows, path), as_json=as_json, console=console())


@app.command("what-if")
@takes_settings("prove-what-if")
def what_if(
    *,
    hops: str,
    sizes: str,
    blocks: str,
    seed: str,
    resume: str,
    as_json: Json = False,
) -> None:
    """Predict the effect of delays, then inject them; fails unless 90 % of the figures are in predicted intervals."""
    with reported_errors():
        folder, plan = _begin_or_resume(
            resume,
            lambda: what_if_proof.proof_plan(
                delay_proof.parse_delays(hops, sizes),
                load_topology("hybrid"),
                blocks=whole_number("blocks", blocks, 1, MAX_BLOCKS),
                seed=checked_seed(seed),
            ),
        )
        typer.echo(f"{len(plan.trials())} trials, {minutes(expected_s(plan))}; Ctrl-C keeps finished trials.", err=True)

        def conclude() -> tuple[list[PredictedFigure], dict[str, Any], Path]:
            rows = what_if_proof.judge(folder.path, delay_proof.delays_of(plan))
            proof = what_if_proof.outcome(rows)
            write_json(folder.path / PROOF, proof)
            return rows, proof, folder.publish(latest=False)

        rows, proof, path = run_trials(plan, folder, load_ports(os.environ), conclude=conclude)
        give(proof, predictions_view(rows, path), as_json=as_json, console=console())


@app.command()
@takes_settings("prove-queues")
def queues(
    *,
    blocks: str,
    seed: str,
    resume: str,
    as_json: Json = False,
) -> None:
    """Hold event loops for known times and check that hop budgets show the waits; fails unless every hold is found."""
    with reported_errors():
        folder, plan = _begin_or_resume(
            resume,
            lambda: queue_proof.proof_plan(
                load_topology("hybrid"),
                blocks=whole_number("blocks", blocks, 1, MAX_BLOCKS),
                seed=checked_seed(seed),
            ),
        )
        typer.echo(f"{len(plan.trials())} trials, {minutes(expected_s(plan))}; Ctrl-C keeps finished trials.", err=True)

        def conclude() -> tuple[list[FoundQueue], Path]:
            rows = queue_proof.judge(folder.path, plan)
            return rows, folder.publish(latest=False)

        rows, path = run_trials(plan, folder, load_ports(os.environ), conclude=conclude, retry=RETRY)
        give(
            _document(rows),
            [queues_table(rows), Text(f"Results: {short_path(path)}")],
            as_json=as_json,
            console=console(),
        )


@app.command()
@takes_settings("prove-observer")
def observer(
    *,
    run: str,
    draws: Annotated[int, typer.Option(min=1)],
    seed: int,
    as_json: Json = False,
) -> None:
    """Treat some of a run's untraced journeys as traced, and count how often the observer effect's interval excludes 0.

    Fails if it does in more than 6 % of the draws, and chance does not explain that for a true rate of 5 %.
    """
    with reported_errors():
        files = read_run(find_run(RESULTS, run, holds=(TRIALS, SUMMARY)))
        proof = with_progress("Draws", draws, lambda step: prove_observer(files, draws, seed, step))
        give(proof, observer_view(proof), as_json=as_json, console=console())


@app.command()
@takes_settings("prove-versions")
def versions(
    *,
    run: str,
    experiments: Annotated[int, typer.Option(min=1)],
    seed: int,
    as_json: Json = False,
) -> None:
    """Draw experiments from a run of equal versions, and count false and found differences; the same for pairs of runs.

    Fails if equal versions differ in significantly more than 5 % of the experiments. Fails too if a part of at least
    2 ms that is 10 % slower is found in less than 80 % of them.
    """
    with reported_errors():
        files = read_run(find_run(RESULTS, run, holds=(TRIALS, SUMMARY)))
        proof = with_progress("Experiments", experiments, lambda step: prove_versions(files, experiments, seed, step))
        give(proof, versions_view(proof), as_json=as_json, console=console())


@app.command()
@takes_settings("prove-account")
def account(
    *,
    topologies: str,
    pairs: str,
    seed: str,
    as_json: Json = False,
) -> None:
    """Turn the event loops' account on and off in a running shop; fails unless it costs p50 at most 1 %, as shown."""
    with reported_errors():
        how_many, number = whole_number("pairs", pairs, MIN_PAIRS, MAX_PAIRS), checked_seed(seed)
        rows = []
        for name in topologies.split(","):
            with tempfile.TemporaryDirectory(prefix="hopwise-account-") as folder:
                rows.append(
                    account_proof.measure(
                        load_topology(name),
                        load_ports(os.environ),
                        Shopload(BINARY),
                        Path(folder),
                        workload=workload_file("default"),
                        pairs=how_many,
                        seed=number,
                    )
                )
        proof = {"holds": all(row.holds for row in rows), "rows": [asdict(row) for row in rows]}
        give(proof, [account_table(rows)], as_json=as_json, console=console())


@app.command("resume")
@takes_settings("prove-resume")
def resume_command(
    *,
    kills: str,
    blocks: str,
    seed: str,
    as_json: Json = False,
) -> None:
    """Kill an experiment at random moments, resume it, and check that nothing was lost."""
    with reported_errors():
        number = checked_seed(seed)
        plan = resume_proof.proof_plan(whole_number("blocks", blocks, 1, MAX_KILLED_BLOCKS), number)
        how_often = whole_number("kills", kills, 1, MAX_KILLS)
        run = RunFolder.of(load_ports(os.environ).base)
        folder = begin(plan, RESULTS)
        folder.release()
        log = RESULTS / f"{folder.final.name}.log"
        typer.echo(
            f"{how_often} kills in {len(plan.trials())} trials; their output goes to {short_path(log)}", err=True
        )
        proof = with_progress(
            "Starts",
            how_often + 1,
            lambda step: resume_proof.prove(plan, folder, run, log, kills=how_often, seed=number, progress=step),
        )
        path = folder.final if folder.final.exists() else folder.existing
        document = {"holds": proof.holds, **asdict(proof)}
        give(document, [*kills_view(proof), Text(f"Results: {short_path(path)}")], as_json=as_json, console=console())


if __name__ == "__main__":
    app()
