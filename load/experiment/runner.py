"""Runs a plan from its first trial to its figures, and writes a results folder. A run can resume after any crash."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from experiment.blocks import THE_SHOP, WORKLOAD, Blocks, Makers
from experiment.plan.arms_in_blocks import PLAN, Plan
from experiment.plan.workload import require_fitting
from experiment.progress import short_path
from experiment.results.folder import RESULTS, ResultsFolder
from experiment.results.manifest import now
from experiment.trial.finished_trials import RECORD
from hops.conclusions.wording import loop_text
from hops.run.documents.summary import Summary
from hops.run.loads import lengths_text, rates_text
from hops.run.network import network_text
from mesh.description.ports import Ports
from mesh.description.switches import settings_of
from mesh.runtime import require_runtime

T = TypeVar("T")


def begin(plan: Plan, results: Path) -> ResultsFolder:
    """Makes the results folder of a new experiment, and writes the plan into it.

    Raises:
        UsageError: The workload does not fit the switches, the disk has too little room, or the folder cannot be
            written.
        MeshError: The plan's cluster cannot run the plan, or this machine lacks a program.
    """
    used = {arm.switches for arm in plan.arms}
    require_fitting(plan.workload, *used)
    for switches in used:
        require_runtime(switches)
    folder = ResultsFolder.new(results, plan.name)
    shutil.copyfile(plan.workload, folder.path / WORKLOAD)
    folder.write_json(PLAN, {**plan.as_document(), "began": now()})
    return folder


def run_plan(
    plan: Plan, folder: ResultsFolder, ports: Ports, *, retry: int = 0, makers: Makers = THE_SHOP, brief: bool = False
) -> tuple[Summary, Path]:
    """Runs every unfinished trial of a plan, publishes the results, and returns the summary and the results' folder.

    Arguments and errors are those of `run_trials`.
    """

    def conclude() -> tuple[Summary, Path]:
        # Not imported at the top: `experiment.blocks` imports these modules during the first trial's warm-up.
        from hops.kinds import summary_with_report

        summary = summary_with_report(folder.path)
        return summary, folder.publish(latest=plan.compares)

    return run_trials(plan, folder, ports, conclude=conclude, retry=retry, makers=makers, brief=brief)


def run_trials(
    plan: Plan,
    folder: ResultsFolder,
    ports: Ports,
    *,
    conclude: Callable[[], T],
    retry: int = 0,
    makers: Makers = THE_SHOP,
    brief: bool = False,
) -> T:
    """Runs every unfinished trial of a plan, collects the rows of all trials, and draws a conclusion from them.

    Args:
        folder: The open folder; its finished trials do not run again.
        conclude: Called once all rows, the manifest and the trials' records are in the folder; publishes the folder.
        retry: How often to repeat a trial while a gate fails; every attempt is kept, and only the last one counts.

    Raises:
        MeshError, HopsError: The run failed; the message is for the user. Nothing is left running, and finished trials
            and earlier results are untouched.
    """
    blocks = None
    try:
        blocks = Blocks(plan, folder, ports, makers, brief=brief)
        blocks.run_all(retry)
        blocks.gather()
        concluded = conclude()
        blocks.clear_line()
        return concluded
    except BaseException:
        if blocks:
            blocks.clear_line()
        kept = folder.set_aside()
        if kept is not None:
            print(_what_is_left(blocks.plan if blocks else plan, kept), file=sys.stderr)
        raise


def load_line(manifest: Mapping[str, Any]) -> str:
    """Describes the load of a run."""
    closed, switches, length = manifest["closed"], manifest["switches"], lengths_text(manifest).rstrip(",")
    if closed is None:
        load = f"open loop, {rates_text(manifest)} for {length}"
    else:
        load = f"closed loop, {loop_text(closed)}, for {length}"
    network, *others = {_network(arm) for arm in manifest.get("arms", {"": switches}).values()}
    return f"{load}; network: not the same for all arms" if others else load + network


def _network(switches: Mapping[str, Any]) -> str:
    text = network_text(switches)
    return f"; network: {text}; {'TLS 1.3' if switches['tls'] == 'on' else 'without TLS'}" if text else ""


def _what_is_left(plan: Plan, kept: Path) -> str:
    records = kept.glob(f"trials/[!.]*/{RECORD}")
    done = sum(".attempt" not in path.parent.name for path in records)
    command = plan.name if plan.kind == "proof" else plan.kind
    of = "" if plan.chosen else f" of {len(plan.trials())}"
    if of == " of 1" or not done:
        return f"The partial results are in {short_path(kept)}."
    finished = f"{done}{of} trials are finished and kept in {short_path(kept)}"
    if "resume" not in {setting.name for setting in settings_of(command)}:
        return f"{finished}."
    resumes = f"hopwise {command} --resume latest" if command == "load" else f"make {command} resume=latest"
    if kept.parent.resolve() != RESULTS.resolve():
        resumes += f" {'--results ' if command == 'load' else 'results='}{shlex.quote(short_path(kept.parent))}"
    return f"{finished}; `{resumes}` resumes the run."
