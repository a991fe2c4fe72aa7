"""`python -m experiment prove`: checks the instrument itself where the truth is known."""

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
from experiment.commands.prove_conformance import prove_conformance_command
from experiment.generator.shopload import BINARY, Shopload
from experiment.plan.arms_in_blocks import MOST_BLOCKS, Plan
from experiment.plan.resume import take_up
from experiment.plan.workload import workload_file
from experiment.progress import minutes, shown
from experiment.proofs import account as account_proof
from experiment.proofs import delays as delay_proof
from experiment.proofs import queues as queue_proof
from experiment.proofs import resume as resume_proof
from experiment.proofs import what_if as what_if_proof
from experiment.proofs.account import LEAST_PAIRS, MOST_PAIRS, AccountCost
from experiment.proofs.delays import FoundDelay
from experiment.proofs.queues import FoundQueue
from experiment.proofs.resume import Proof
from experiment.proofs.what_if import Foretold
from experiment.results.folder import RESULTS, ResultsFolder, find_run, read_json, write_json
from experiment.runner import begin, run_trials
from hops.commands.prove import app as simulations
from hops.commands.prove import give, observer_view, with_progress
from hops.conclusions.wording import plural
from hops.elements.element import Element, Points, Text
from hops.elements.table import Cell, Column, Table, estimate, table_of, whole, words
from hops.gates.verdict import failing_gates, verdict_of, worst_verdict
from hops.proofs.observer import prove_observer
from hops.run.files import SUMMARY, TRIALS, read_run
from mesh.description.options import Json, takes_settings
from mesh.description.ports import load_ports
from mesh.description.topology import load_topology
from mesh.paths import RunFolder

PROOF = "proof.json"
#: One disturbed trial among sixty would widen all intervals of its delay, so it is repeated once.
RETRY = 1
MOST_KILLS = 100
MOST_KILLED_BLOCKS = 10

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Check the instrument where the truth is known.")
app.add_typer(simulations)
app.command("conformance")(prove_conformance_command)


def _begun(resume: str, planned: Callable[[], Plan]) -> tuple[ResultsFolder, Plan]:
    """The folder and plan of a proof that begins, or of an interrupted one."""
    if resume:
        return take_up(RESULTS, resume, "proof")
    plan = planned()
    return begin(plan, RESULTS), plan


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
        folder, plan = _begun(
            resume,
            lambda: delay_proof.proof_plan(
                delay_proof.injected(hops, sizes),
                load_topology("hybrid"),
                blocks=whole_number("blocks", blocks, 1, MOST_BLOCKS),
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
            documents = [{**asdict(row), "failed": row.failed, "holds": row.holds} for row in rows]
            proof = {"holds": all(row.holds for row in rows), "rows": documents}
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
    """Predict what delays do, then inject them; fails unless 90 % of the figures are in their predicted intervals."""
    with reported_errors():
        folder, plan = _begun(
            resume,
            lambda: what_if_proof.proof_plan(
                delay_proof.injected(hops, sizes),
                load_topology("hybrid"),
                blocks=whole_number("blocks", blocks, 1, MOST_BLOCKS),
                seed=checked_seed(seed),
            ),
        )
        typer.echo(f"{len(plan.trials())} trials, {minutes(expected_s(plan))}; Ctrl-C keeps finished trials.", err=True)

        def conclude() -> tuple[list[Foretold], dict[str, Any], Path]:
            rows = what_if_proof.judge(folder.path, delay_proof.delays_of(plan))
            proof = what_if_proof.outcome(rows)
            write_json(folder.path / PROOF, proof)
            return rows, proof, folder.publish(latest=False)

        rows, proof, path = run_trials(plan, folder, load_ports(os.environ), conclude=conclude)
        give(proof, foretold_view(rows, path), as_json=as_json, console=console())


@app.command()
@takes_settings("prove-queues")
def queues(
    *,
    blocks: str,
    seed: str,
    resume: str,
    as_json: Json = False,
) -> None:
    """Hold event loops for known times and check that hop budgets show who waited; fails unless every hold is found."""
    with reported_errors():
        folder, plan = _begun(
            resume,
            lambda: queue_proof.proof_plan(
                load_topology("hybrid"),
                blocks=whole_number("blocks", blocks, 1, MOST_BLOCKS),
                seed=checked_seed(seed),
            ),
        )
        typer.echo(f"{len(plan.trials())} trials, {minutes(expected_s(plan))}; Ctrl-C keeps finished trials.", err=True)

        def conclude() -> tuple[list[FoundQueue], Path]:
            rows = queue_proof.judge(folder.path, plan)
            return rows, folder.publish(latest=False)

        rows, path = run_trials(plan, folder, load_ports(os.environ), conclude=conclude, retry=RETRY)
        documents = [{**asdict(row), "failed": row.failed, "holds": row.holds} for row in rows]
        proof = {"holds": all(row.holds for row in rows), "rows": documents}
        give(proof, [queues_table(rows), Text(f"Results: {shown(path)}")], as_json=as_json, console=console())


@app.command()
@takes_settings("prove-observer")
def observer(
    *,
    run: str,
    draws: Annotated[int, typer.Option(min=1)],
    seed: int,
    as_json: Json = False,
) -> None:
    """Call some of a run's untraced journeys sampled, and count how often the observer effect's interval leaves out 0.

    Fails where it does in more than 6 % of the draws, and chance does not make that of 5 %.
    """
    with reported_errors():
        files = read_run(find_run(RESULTS, run, holds=(TRIALS, SUMMARY)))
        proof = with_progress("Draws", draws, lambda step: prove_observer(files, draws, seed, step))
        give(proof, observer_view(proof), as_json=as_json, console=console())


@app.command()
@takes_settings("prove-account")
def account(
    *,
    topologies: str,
    pairs: str,
    seed: str,
    as_json: Json = False,
) -> None:
    """Turn the event loops' account on and off in a running shop; fails unless it is shown to cost p50 at most 1 %."""
    with reported_errors():
        how_many, number = whole_number("pairs", pairs, LEAST_PAIRS, MOST_PAIRS), checked_seed(seed)
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
        plan = resume_proof.proof_plan(whole_number("blocks", blocks, 1, MOST_KILLED_BLOCKS), number)
        how_often = whole_number("kills", kills, 1, MOST_KILLS)
        run = RunFolder.of(load_ports(os.environ).base)
        folder = begin(plan, RESULTS)
        folder.release()
        log = RESULTS / f"{folder.final.name}.log"
        typer.echo(f"{how_often} kills in {len(plan.trials())} trials; their output goes to {shown(log)}", err=True)
        proof = with_progress(
            "Starts",
            how_often + 1,
            lambda step: resume_proof.prove(plan, folder, run, log, kills=how_often, seed=number, progress=step),
        )
        path = folder.final if folder.final.exists() else folder.existing
        document = {"holds": proof.holds, **asdict(proof)}
        give(document, [*kills_view(proof), Text(f"Results: {shown(path)}")], as_json=as_json, console=console())


def delays_table(rows: Sequence[FoundDelay]) -> Table:
    """A row for each delay."""
    return table_of(
        "delays",
        f"Injected delays, found by hop differences, {plural(len(rows), 'delay')} at once",
        rows,
        [
            (Column("delay", "ms", numeric=False), lambda row: words(f"{row.component} {row.delay_ms:g}")),
            (Column("journey", numeric=False), lambda row: words(row.journey)),
            (Column("crossings", spare=2), lambda row: Cell(f"{row.crossings:.2f}")),
            (Column("expected", "ms"), lambda row: Cell(f"{row.expected_ms:.3f}")),
            (Column("found", "ms"), lambda row: Cell(f"{row.found_ms:.3f}")),
            (Column("95 % alone", "ms", spare=1), lambda row: Cell("{:.3f} to {:.3f}".format(*row.ci95))),
            (Column("95 % together", "ms"), lambda row: Cell("{:.3f} to {:.3f}".format(*row.ci95_joint))),
            (Column("verdict", numeric=False), lambda row: words("found" if row.holds else "NOT FOUND")),
        ],
    )


def foretold_view(rows: Sequence[Foretold], path: Path) -> list[Element]:
    """Which predictions held, for people."""
    inside, telling = sum(row.holds for row in rows), sum(row.tells for row in rows)
    verdict = (
        f"{inside} of {len(rows)} figures lie in the interval of their prediction; {telling} of these intervals leave "
        "out what was measured without the delay."
    )
    too_wide = "That proves nothing: the intervals are too wide. Leave the machine idle, or give more blocks."
    table = table_of(
        "what_if",
        "Figures with delays, predicted from traces without",
        rows,
        [
            (Column("delay", "ms", numeric=False), lambda row: words(f"{row.component} {row.delay_ms:g}")),
            (Column("pause", "ms", spare=2), lambda row: Cell(f"{row.paused_ms:.2f}")),
            (Column("journey", numeric=False), lambda row: words(f"{row.journey}, {row.metric}")),
            (Column("without", "ms"), lambda row: Cell(f"{row.before_ms:.2f}")),
            (Column("predicted", "ms"), lambda row: Cell(f"{row.predicted_ms:.2f}")),
            (Column("interval", "ms"), lambda row: Cell("{:.2f} to {:.2f}".format(*row.ci95))),
            (Column("measured", "ms"), lambda row: Cell(f"{row.measured_ms:.2f}")),
            (
                Column("untouched", "times", spare=1),
                lambda row: Cell("" if row.untouched is None else f"{row.untouched:.2f}"),
            ),
            (Column("corrected", "ms"), lambda row: Cell(f"{row.corrected_ms:.2f}")),
            (Column("verdict", numeric=False), lambda row: words("inside" if row.holds else "OUTSIDE")),
        ],
    )
    return [
        table,
        Text(verdict, tone="verdict"),
        Text(
            "Untouched: what journeys that have no pause took in the same trials, in times of what they took in those "
            "without a delay. By as much the machine was slower, and the measured figure is corrected by it."
        ),
        *([] if telling else [Text(too_wide)]),
        Text(f"Results: {shown(path)}"),
    ]


def account_table(rows: Sequence[AccountCost]) -> Table:
    """A row for each topology."""

    def share(value: float, ends: tuple[float, float]) -> Cell:
        return estimate(100 * value, [100 * end for end in ends], signed=True)

    return table_of(
        "account",
        "What event loops' account of when they are busy adds to latencies",
        rows,
        [
            (Column("topology", numeric=False), lambda row: words(row.topology)),
            (Column("pairs"), lambda row: whole(row.pairs)),
            (Column("journeys"), lambda row: whole(row.journeys)),
            (Column("adds to p50", "%", interval=True), lambda row: share(row.p50, row.p50_ci95)),
            (Column("to the mean", "%", interval=True), lambda row: share(row.mean, row.mean_ci95)),
            (
                Column("verdict", numeric=False),
                lambda row: words("at most 1 %" if row.holds else "NOT SHOWN to be at most 1 %"),
            ),
        ],
    )


def queues_table(rows: Sequence[FoundQueue]) -> Table:
    """A row for each component and length of a hold."""
    columns = [Column("held", "ms", numeric=False), Column("calls that waited"), Column("waited", "ms")]
    columns += [Column("found", "ms"), Column("off by, 95 %", "ms"), Column("verdict", numeric=False)]
    cells = [
        [
            words(f"{row.component} {row.hold_ms:g}"),
            whole(row.waited),
            Cell(f"{row.true_ms:.2f}"),
            Cell(f"{row.found_ms:.2f}"),
            Cell(" to ".join("…" if end is None else f"{end:.2f}" for end in row.off_ci95)),
            words("found" if row.holds else f"NOT FOUND: {'; '.join(row.failed)}"),
        ]
        for row in rows
    ]
    found = sum(row.holds for row in rows)
    return Table("queues", f"Held event loops, found as queue: in {found} of {len(rows)} cases", columns, cells)


def delays_view(rows: Sequence[FoundDelay], path: Path) -> list[Element]:
    """Which delays were found, for people.

    Args:
        rows: of `judge`.
        path: of the results.
    """
    trials = [trial for trial in read_json(path / TRIALS)["trials"] if trial["used"]]
    failing = sum(bool(failing_gates(trial["gates"])) for trial in trials)
    alone = sum(row.agrees(row.ci95) for row in rows)
    verdict = worst_verdict(verdict_of(trial["gates"]) for trial in trials)
    noisy = f"{verdict}: a gate fails in {failing} of {len(trials)} trials; a busy machine makes intervals wide."
    return [
        delays_table(rows),
        Points([f"{row.component} {row.delay_ms:g}: {'; '.join(row.failed)}." for row in rows if not row.holds]),
        Text(
            f"{sum(row.holds for row in rows)} of {len(rows)} delays were found at the right component, with the true "
            f"size inside the interval; {alone} of {len(rows)} are inside the interval of the row alone.",
            tone="verdict",
        ),
        *([Text(noisy)] if failing else []),
        Text(f"Results: {shown(path)}"),
    ]


def kills_view(proof: Proof) -> list[Element]:
    """A row for each kill and one for the end, what is wrong with the whole, and the verdict."""
    columns = [Column("kill", numeric=False), Column("after", "s"), Column("last output before", numeric=False)]
    columns += [Column(f"finished of {proof.planned}"), Column("state", numeric=False)]
    rows = [
        [
            words("end" if kill is proof.kills[-1] and kill.finished == proof.planned else str(kill.number)),
            Cell(f"{kill.after_s:.1f}"),
            words(kill.doing),
            whole(kill.finished),
            words("WRONG: " + "; ".join(kill.wrong) if kill.wrong else "ok"),
        ]
        for kill in proof.kills
    ]
    title = f"An experiment of {proof.planned} trials, killed {len(proof.kills) - 1} times with SIGKILL"
    verdict = (
        f"All {proof.planned} trials exist exactly once and used the same tape. Finished trials are unchanged byte for "
        "byte, and no process survived a kill."
        if proof.holds
        else "The experiment did not survive being killed."
    )
    return [
        Table("kills", title, columns, rows),
        Points([f"WRONG: {wrong}" for wrong in proof.wrong]),
        Text(verdict, tone="verdict"),
    ]
