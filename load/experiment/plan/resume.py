"""Finds an interrupted experiment (`resume=`), and its plan."""

from __future__ import annotations

from pathlib import Path

from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import PLAN, Plan, plan_of
from experiment.results.folder import ResultsFolder, find_unfinished, read_json


def take_up(results: Path, run: str, kind: str, name: str = "") -> tuple[ResultsFolder, Plan]:
    """Reopens an interrupted experiment by its folder's name; `latest` prefers folders with a finished trial.

    Args:
        name: Name of the plan, if plans of this kind have several commands, as proofs do; empty for any plan.

    Raises:
        UsageError: No such folder exists, or another process is running it.
    """
    folders = sorted(find_unfinished(results, PLAN), key=lambda folder: not folder.has_trials)
    there = {
        one.final.name: one
        for one in folders
        if (plan := read_json(one.existing / PLAN)).get("kind") == kind and name in ("", plan.get("name"))
    }
    folder = there.get(next(iter(there), "") if run == "latest" else run)
    if folder is None:
        listed = ", ".join(list(there)[:5]) or "none"
        raise UsageError(f"resume={run} is not an interrupted {name or kind}; interrupted runs: {listed}")
    folder.reopen()
    return folder, plan_of(read_json(folder.path / PLAN))
