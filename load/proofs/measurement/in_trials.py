"""Runs a proof as trials in blocks, and judges their rows; an interrupted proof can be resumed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import typer

from experiment.arguments import checked_seed, whole_number
from experiment.blocks import expected_s
from experiment.commands.in_blocks import refuse_beside_resume
from experiment.plan.arms_in_blocks import MAX_BLOCKS, Plan
from experiment.plan.resume import take_up
from experiment.progress import minutes, short_path
from experiment.results.folder import RESULTS, ResultsFolder, write_json
from experiment.runner import begin, run_trials
from hops.elements.element import Element, Text
from mesh.description.ports import load_ports
from mesh.description.topology import Topology, load_topology
from proofs.outcome import give

DOCUMENT = "proof.json"
RETRY = 1
"""Number of retries of a disturbed trial, for proofs in which one such trial among sixty widens a row's intervals."""
Row = TypeVar("Row")


@dataclass(frozen=True)
class Trials:
    """The user's settings for a proof in trials: how many blocks, the seed, and which interrupted proof to resume."""

    blocks: str
    seed: str
    resume: str

    def prove(
        self,
        make_plan: Callable[[Topology, int, int], Plan],
        judge: Callable[[Path, Plan], Sequence[Row]],
        describe: Callable[[Sequence[Row]], Mapping[str, Any]],
        view: Callable[[Sequence[Row], Path], Sequence[Element]],
        *,
        name: str,
        given: typer.Context,
        as_json: bool,
        retry: int = 0,
    ) -> None:
        """Runs the trials of a proof, prints its outcome, and exits with 1 unless it holds.

        Args:
            make_plan: Makes the plan of a new proof from the topology, the number of blocks and the seed.
            describe: Makes the document for programs from the judgements; `holds` says whether the proof holds.
            name: Name of the plan, which is also the name of the command: a proof resumes only its own runs.
            given: What the user gave; a resumed proof keeps the settings with which it began.
            retry: Number of retries of a trial in which a gate fails.

        Raises:
            UsageError: A setting is invalid or is given together with `resume`, or there is no such interrupted proof.
            HopsError: The files are incomplete.
        """
        if self.resume:
            refuse_beside_resume(given)
            folder, plan = take_up(RESULTS, self.resume, "proof", name)
        else:
            folder, plan = self._begin(make_plan)
        typer.echo(
            f"{len(plan.trials())} trials in random order, {minutes(expected_s(plan))}. Leave the machine idle until "
            "then; Ctrl-C keeps finished trials.",
            err=True,
        )

        def conclude() -> tuple[Sequence[Row], Mapping[str, Any], Path]:
            rows = judge(folder.path, plan)
            document = describe(rows)
            write_json(folder.path / DOCUMENT, document)
            return rows, document, folder.publish(latest=False)

        rows, document, path = run_trials(plan, folder, load_ports(os.environ), conclude=conclude, retry=retry)
        give(document, [*view(rows, path), Text(f"Results: {short_path(path)}")], as_json=as_json)

    def _begin(self, make_plan: Callable[[Topology, int, int], Plan]) -> tuple[ResultsFolder, Plan]:
        blocks = whole_number("blocks", self.blocks, 1, MAX_BLOCKS)
        plan = make_plan(load_topology("hybrid"), blocks, checked_seed(self.seed))
        return begin(plan, RESULTS), plan


def describe(rows: Sequence[Any]) -> dict[str, Any]:
    """Makes the document from the rows; each row says whether it holds, and if not, why. No rows prove nothing."""
    documents = [{**asdict(row), "failed": row.failed, "holds": row.holds} for row in rows]
    return {"holds": bool(rows) and all(row.holds for row in rows), "rows": documents}
