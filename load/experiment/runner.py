"""Runs a plan: trial after trial into a results folder, and its figures at the end. It can go on after any crash."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from experiment.errors import UsageError
from experiment.generator.shopload import BINARY, Shopload
from experiment.generator.tapes import Tapes, make_tapes
from experiment.plan.closed_loop import ClosedLoop
from experiment.plan.plan import DATA_SEED, Plan, Planned, plan_of
from experiment.progress import Progress, minutes, shown
from experiment.results.folder import ResultsFolder, check_room, read_json, unfinished, write_json
from experiment.results.manifest import git_state, kong_version, manifest_of, now
from experiment.trial.files import RECORD, TrialFiles
from experiment.trial.trial import VEGETA, Trial, run_trial
from hops.analysis.summary import analyse
from hops.gates.experiment import failed
from hops.report import write_report
from hops.run.documents import SCHEMA, Summary, TrialRecord
from hops.run.files import MANIFEST, SUMMARY, TRIALS, read_run, write_summary
from hops.run.rows import write_parquet
from mesh.paths import ROOT
from mesh.ports import Ports
from mesh.runtimes import require_runtime, system_of
from mesh.shop_processes import Data

T = TypeVar("T")

PLAN = "plan.json"
#: A copy, so that an experiment goes on with the workload that it began with.
WORKLOAD = "workload.yaml"
#: As `run_trial` is called.
RunTrial = Callable[..., Trial]
#: Seconds of a trial that are neither warm-up nor load: starting, parity, collecting, stopping. A first guess.
TRIAL_OVERHEAD_S = 10.0


def begin(plan: Plan, results: Path) -> ResultsFolder:
    """Makes the folder of a new experiment, with its plan in it.

    Raises:
        UsageError: The disk has too little room, or the folder cannot be written.
        MeshError: The cluster that the plan is for cannot run it, or this machine lacks a program.
    """
    for switches in {arm.switches for arm in plan.arms}:
        require_runtime(switches)
    folder = ResultsFolder.new(results, plan.name)
    shutil.copyfile(plan.workload, folder.path / WORKLOAD)
    folder.write_json(PLAN, {**plan.as_document(), "began": now()})
    return folder


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


def run_plan(
    plan: Plan, folder: ResultsFolder, ports: Ports, *, retry: int = 0, run: RunTrial = run_trial
) -> tuple[Summary, Path]:
    """Runs every trial of a plan that is not finished yet, then computes and publishes the results.

    Args and errors are those of `run_trials`.

    Returns:
        The summary, and the folder of the results.
    """

    def conclude() -> tuple[Summary, Path]:
        measured = read_run(folder.path)
        summary = analyse(measured, name=plan.name)
        write_summary(summary, folder.path / SUMMARY)
        write_report(measured, summary, folder.path)
        return summary, folder.publish()

    return run_trials(plan, folder, ports, conclude=conclude, retry=retry, run=run)


def run_trials(
    plan: Plan,
    folder: ResultsFolder,
    ports: Ports,
    *,
    conclude: Callable[[], T],
    retry: int = 0,
    run: RunTrial = run_trial,
) -> T:
    """Runs every trial of a plan that is not finished yet, puts their rows together, and draws a conclusion from them.

    Args:
        plan: The experiment.
        folder: Open; finished trials in it are kept and not run again.
        ports: Where everything listens.
        conclude: Called once all rows, the manifest and the trials' records are in the folder; publishes the folder.
        retry: How often a trial that is SUSPECT is repeated; every attempt is kept, the last one counts.
        run: Runs one trial.

    Returns:
        The conclusion.

    Raises:
        MeshError, HopsError: What went wrong, in words for the user; nothing is left running, finished trials and
            the results of earlier runs are untouched.
    """
    try:
        trials = _Trials(plan, folder, ports, run)
        trials.run_all(retry)
        trials.gather()
        return conclude()
    except BaseException:
        kept = folder.set_aside()
        if kept is not None:
            print(_what_is_left(plan, kept), file=sys.stderr)
        raise


class _Trials:
    def __init__(self, plan: Plan, folder: ResultsFolder, ports: Ports, run: RunTrial) -> None:
        self._plan = plan
        self._folder = folder
        self._ports = ports
        self._run = run
        self._say = Progress()
        self._files = TrialFiles(folder.path / "trials")
        again = self._files.recover()
        if again:
            self._say(f"interrupted earlier, running again: {', '.join(again)}")
        self._shopload = Shopload(BINARY)
        self._tapes = self._same_tapes()
        load = self._tapes.load
        self._say(f"tape {load.sha256[:12]}…: {load.journeys} journeys, seed {plan.seed}")

    def run_all(self, retry: int) -> None:
        trials, say = self._plan.trials(), self._say
        several = len(trials) > 1
        checked: set[str] = set()
        durations: list[float] = []
        for number, planned in enumerate(trials, start=1):
            record = self._files.record(planned.name)
            while record is None or (not record["valid"] and record["attempt"] <= retry):
                attempt = 1 if record is None else record["attempt"] + 1
                check_room(self._folder.path)
                began = time.monotonic()
                with say.within(_title(planned, number, len(trials), attempt) if several else ""):
                    record = self._trial(planned, attempt, parity_in_full=planned.arm.label not in checked)
                durations.append(time.monotonic() - began)
                if several:
                    left = (len(trials) - number) * (sum(durations) / len(durations))
                    to_wait = f"; {minutes(left)} left" if left else ""
                    say(f"trial {number} of {len(trials)} finished: {_verdict(record)}{to_wait}")
            checked.add(planned.arm.label)
        if several:
            say("all trials are finished; computing figures and intervals")

    def gather(self) -> None:
        """Puts the rows of all trials together, and writes what the run was made of."""
        plan, path = self._plan, self._folder.path
        vegeta = path / "vegeta"
        vegeta.mkdir(exist_ok=True)
        for planned in plan.trials():
            of_trial = path / "trials" / planned.name / VEGETA
            if of_trial.is_file():
                of_trial.rename(vegeta / f"{planned.name}.gob")
        for name, frame in self._files.frames(plan.trials()):
            write_parquet(frame, path / f"{name}.parquet")
        records = self._files.records()
        self._folder.write_json(TRIALS, {"schema": SCHEMA, "trials": records})
        self._folder.write_json(MANIFEST, self._manifest(max(row["memory_peak_mb"] for row in records if row["used"])))

    def _trial(self, planned: Planned, attempt: int, *, parity_in_full: bool) -> TrialRecord:
        began = datetime.now(UTC)
        arm, name = planned.arm, trial_name(self._folder.final.name, planned.name)
        trial = self._run(
            system_of(arm.topology, arm.switches, self._ports, name, data=Data(self._plan.scale, DATA_SEED)),
            self._shopload,
            self._tapes,
            self._plan,
            self._files.scratch(planned),
            say=self._say,
            parity_in_full=parity_in_full,
        )
        return self._files.finish(planned, trial, attempt=attempt, began=began, commit=git_state(ROOT)["commit"])

    def _same_tapes(self) -> Tapes:
        folder = self._folder.path
        where = folder / "tapes"
        tapes = make_tapes(self._shopload, self._plan, folder / WORKLOAD, where)
        noted = where / "sha256.json"
        if not noted.is_file():
            write_json(noted, tapes.shas())
        elif read_json(noted) != tapes.shas():
            raise UsageError(
                "the generator now makes a different tape, so new trials would not be comparable. "
                "Resume with the version that started the experiment, or start a new one"
            )
        return tapes

    def _manifest(self, memory_peak_mb: float) -> dict[str, Any]:
        plan, tapes = self._plan, self._tapes
        seeds = {"tape": plan.seed, "order": plan.seed, "data": DATA_SEED, "bootstrap": plan.seed}
        topologies = {arm.label: arm.topology for arm in plan.arms}
        made_of = manifest_of(plan.kind, plan.name, topologies, plan.arms[0].switches, plan.workload, seeds)
        if any(arm.switches.edge == "kong" and not arm.switches.in_cluster for arm in plan.arms):
            made_of["versions"]["kong"] = kong_version(os.environ)
        return {
            "schema": SCHEMA,
            **made_of,
            "began": read_json(self._folder.path / PLAN)["began"],
            "ended": now(),
            "blocks": plan.blocks,
            **_cluster_of(plan),
            "arms": {arm.label: arm.switches.as_dict() for arm in plan.arms},
            "mode": "open" if plan.closed is None else "closed",
            "closed": None if plan.closed is None else asdict(plan.closed),
            # A closed loop has no rate: its answers give the pace.
            "profile": asdict(plan.profile) | ({} if plan.closed is None else {"rate": None}),
            "tapes": tapes.shas(),
            "journeys": tapes.load.journeys,
            "memory_peak_mb": memory_peak_mb,
        }


def _cluster_of(plan: Plan) -> dict[str, Any]:
    """What the cluster is made of, if the plan's arms run in one."""
    if not plan.arms[0].switches.in_cluster:
        return {}
    from mesh.kubernetes.facts import cluster_facts
    from mesh.kubernetes.kubectl import Kubectl

    return {"cluster": cluster_facts(Kubectl.current(os.environ))}


def trial_name(run: str, trial: str) -> str:
    """What spans and the database call a trial."""
    return f"{run}/{trial}"


def load_line(manifest: Mapping[str, Any]) -> str:
    """What drove a run, in words."""
    closed, profile = manifest["closed"], manifest["profile"]
    if closed is None:
        return f"open loop, {profile['rate']:g} journeys a second for {profile['duration_s']} s"
    return f"{ClosedLoop(closed['vus'], closed['think_s'])}, for {profile['duration_s']} s"


def expected_s(plan: Plan) -> float:
    """A first guess at how long a plan takes, in seconds."""
    return len(plan.trials()) * (plan.profile.warmup_s + plan.profile.duration_s + TRIAL_OVERHEAD_S)


def _title(planned: Planned, number: int, of: int, attempt: int) -> str:
    again = f", attempt {attempt}" if attempt > 1 else ""
    return f"{number}/{of} {planned.arm.label}, block {planned.block}{again}"


def _verdict(record: TrialRecord) -> str:
    return "VALID" if record["valid"] else f"SUSPECT ({', '.join(failed(record['gates']))})"


def _what_is_left(plan: Plan, kept: Path) -> str:
    finished = kept.glob(f"trials/[!.]*/{RECORD}")
    done = sum(".attempt" not in path.parent.name for path in finished)
    command = plan.kind if plan.kind in ("compare", "ladder") else plan.name
    if plan.kind == "bench" or not done:
        return f"The partial results are in {shown(kept)}."
    return (
        f"{done} of {len(plan.trials())} trials are finished and kept in {shown(kept)}; "
        f"`make {command} resume=latest` resumes it."
    )
