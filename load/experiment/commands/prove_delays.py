"""`make prove-delays`: injected delays are found where they are, on the running system."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from experiment.arguments import checked_seed, whole_number
from experiment.commands.options import Json, console, reported_errors
from experiment.plan.plan import MOST_BLOCKS
from experiment.progress import minutes, shown
from experiment.proofs.delays import HOPS, JOURNEYS, SIZES, Found, delays_of, injected, judge, proof_plan
from experiment.results.folder import RESULTS, write_json
from experiment.runner import begin, expected_s, run_trials, take_up
from hops.run.files import read_run
from hops.terminal.tables import table_titled
from mesh.ports import load_ports
from mesh.topology import load_topology

PROOF = "proof.json"
BLOCKS = "4"
#: One disturbed trial among sixty would widen all intervals of its delay, so it is repeated once.
RETRY = 1


def prove_delays_command(
    hops: Annotated[str, typer.Option(help=f"Components to slow: {', '.join(JOURNEYS)}.")] = ",".join(HOPS),
    sizes: Annotated[str, typer.Option(help="By how much, with commas between: 500us, 2ms.")] = ",".join(SIZES),
    blocks: Annotated[str, typer.Option(help="How often each runs; at least 3.")] = BLOCKS,
    seed: Annotated[str, typer.Option(help="Of the tape and the order.")] = "1",
    resume: Annotated[str, typer.Option(help="Go on with an interrupted one: latest, or its name.")] = "",
    as_json: Json = False,
) -> None:
    """Inject delays of known size and find them again. Exit code 1 unless every one is found."""
    with reported_errors():
        if resume:
            folder, plan = take_up(RESULTS, resume, "proof")
        else:
            plan = proof_plan(
                injected(hops, sizes),
                load_topology("hybrid"),
                blocks=whole_number("blocks", blocks, 1, MOST_BLOCKS),
                seed=checked_seed(seed),
            )
            folder = begin(plan, RESULTS)
        delays = delays_of(plan)
        typer.echo(
            f"{len(delays)} delays and {len(plan.arms) - len(delays)} trials without any, {plan.blocks} blocks in "
            f"random order, {minutes(expected_s(plan))}. Leave the machine alone; Ctrl-C keeps what is finished.",
            err=True,
        )

        def conclude() -> tuple[list[Found], Path]:
            found = judge(folder.path, delays)
            write_json(folder.path / PROOF, {"holds": holds(found), "rows": [_document(row) for row in found]})
            return found, folder.publish(latest=False)

        found, path = run_trials(plan, folder, load_ports(os.environ), conclude=conclude, retry=RETRY)
        if as_json:
            typer.echo((path / PROOF).read_text(encoding="utf-8"), nl=False)
        else:
            _show(found, path)
        if not holds(found):
            raise SystemExit(1)


def holds(found: Sequence[Found]) -> bool:
    """Whether every delay was found."""
    return all(row.holds for row in found)


def proof_table(found: Sequence[Found]) -> Table:
    """A row for each delay."""
    table = table_titled(f"Injected delays, ms: found by hop differences, {len(found)} at once")
    for name in ("delay", "journey"):
        table.add_column(name, no_wrap=True)
    for name in ("crossings", "expected", "found", "95 % alone", "95 % together"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for row in found:
        table.add_row(
            f"{row.component} {row.delay_ms:g}",
            row.journey,
            f"{row.crossings:.2f}",
            f"{row.expected_ms:.3f}",
            f"{row.found_ms:.3f}",
            "{:.3f}..{:.3f}".format(*row.ci95),
            "{:.3f}..{:.3f}".format(*row.ci95_joint),
            "found" if row.holds else "NOT FOUND",
        )
    return table


def _show(found: Sequence[Found], path: Path) -> None:
    trials = [trial for trial in read_run(path).trials if trial["used"]]
    suspect = sum(not trial["valid"] for trial in trials)
    alone = sum(row.agrees(row.ci95) for row in found)
    out = console()
    out.print(proof_table(found))
    for row in found:
        if not row.holds:
            out.print(Text(f"{row.component} {row.delay_ms:g}: {'; '.join(row.failed)}."))
    out.print(
        Text(
            f"{sum(row.holds for row in found)} of {len(found)} delays found at the component that has them, with"
            f" their size inside the interval; {alone} of {len(found)} inside the interval of the row alone."
        )
    )
    if suspect:
        out.print(
            Text(f"{suspect} of {len(trials)} trials are SUSPECT: the machine was not quiet, the intervals are wide.")
        )
    out.print(Text(f"Results: {shown(path)}"))


def _document(row: Found) -> dict[str, object]:
    return {**asdict(row), "failed": row.failed, "holds": row.holds}
