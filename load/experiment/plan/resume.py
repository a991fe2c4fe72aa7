"""Finds an interrupted experiment (`resume=`), and its plan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import PLAN, Plan, plan_of
from experiment.results.folder import ResultsFolder, find_unfinished, read_json


def take_up(results: Path, run: str, kind: str) -> tuple[ResultsFolder, Plan]:
    """Finds an interrupted experiment and its plan.

    Args:
        results: The folder of all results.
        run: The folder's name, or `latest` for the newest; `latest` prefers folders with a finished trial.
        kind: Kind of the plan.

    Raises:
        UsageError: No such folder exists, or another process is running it.
    """
    kinds = {folder: read_json(folder.existing / PLAN).get("kind") for folder in find_unfinished(results, PLAN)}
    there = [folder for folder in kinds if kinds[folder] == kind]
    folder = choose_interrupted(sorted(there, key=lambda folder: not folder.has_trials), run, kind)
    return folder, plan_of(read_json(folder.path / PLAN))


def choose_interrupted(folders: Sequence[ResultsFolder], run: str, kind: str) -> ResultsFolder:
    """Chooses and opens the folder of an interrupted run.

    Args:
        folders: The folders, in the order in which `latest` prefers them.
        run: The folder's name, or `latest`.
        kind: Name for runs of this kind, used in messages.

    Raises:
        UsageError: No such folder exists, or another process is running it.
    """
    there = {folder.final.name: folder for folder in folders}
    folder = there.get(next(iter(there), "") if run == "latest" else run)
    if folder is None:
        listed = ", ".join(list(there)[:5]) or "none"
        raise UsageError(f"resume={run} is not an interrupted {kind}; interrupted runs: {listed}")
    folder.reopen()
    return folder
