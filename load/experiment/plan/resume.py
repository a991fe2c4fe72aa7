"""Finds an experiment that was interrupted (`resume=`), with the plan that it follows."""

from __future__ import annotations

from pathlib import Path

from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import PLAN, Plan, plan_of
from experiment.results.folder import ResultsFolder, read_json, unfinished


def take_up(results: Path, run: str, kind: str) -> tuple[ResultsFolder, Plan]:
    """Finds an interrupted experiment and its plan.

    Args:
        results: The folder of all results.
        run: `latest`, or the folder's name.
        kind: Kind of the plan.

    Raises:
        UsageError: There is none of this name, or it is being run by somebody else.
    """
    folders = unfinished(results, PLAN)
    there = {folder.final.name: folder for folder in folders if read_json(folder.existing / PLAN).get("kind") == kind}
    folder = there.get(next(iter(there), "") if run == "latest" else run)
    if folder is None:
        listed = ", ".join(list(there)[:5]) or "none"
        raise UsageError(f"resume={run} is not an interrupted {kind}; interrupted ones: {listed}")
    folder.reopen()
    return folder, plan_of(read_json(folder.path / PLAN))
