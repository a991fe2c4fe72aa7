"""Finds an experiment that was interrupted (`resume=`), with the plan that it follows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import PLAN, Plan, plan_of
from experiment.results.folder import ResultsFolder, read_json, unfinished


def take_up(results: Path, run: str, kind: str) -> tuple[ResultsFolder, Plan]:
    """Finds an interrupted experiment and its plan.

    Args:
        results: The folder of all results.
        run: The folder's name, or `latest`: the newest, of those with a finished trial if there are any.
        kind: Kind of the plan.

    Raises:
        UsageError: There is none of this name, or it is being run by somebody else.
    """
    kinds = {folder: read_json(folder.existing / PLAN).get("kind") for folder in unfinished(results, PLAN)}
    there = [folder for folder in kinds if kinds[folder] == kind]
    folder = interrupted(sorted(there, key=lambda folder: not folder.has_trials), run, kind)
    return folder, plan_of(read_json(folder.path / PLAN))


def interrupted(folders: Sequence[ResultsFolder], run: str, kind: str) -> ResultsFolder:
    """Takes up one of the folders of interrupted runs.

    Args:
        folders: The folders, the one that `latest` stands for first.
        run: `latest`, or the folder's name.
        kind: What they are, for people.

    Raises:
        UsageError: There is none of this name, or it is being run by somebody else.
    """
    there = {folder.final.name: folder for folder in folders}
    folder = there.get(next(iter(there), "") if run == "latest" else run)
    if folder is None:
        listed = ", ".join(list(there)[:5]) or "none"
        raise UsageError(f"resume={run} is not an interrupted {kind}; interrupted ones: {listed}")
    folder.reopen()
    return folder
