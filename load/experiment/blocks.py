"""Runs the trials of a plan, block after block, and collects their rows."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiment.errors import UsageError
from experiment.generator.shopload import BINARY, Shopload
from experiment.generator.tapes import Tapes, make_tapes
from experiment.noise_warning import NoiseWarning
from experiment.plan.arms_in_blocks import DATA_SEED, MAX_BLOCKS, PLAN, Arm, Plan, Planned
from experiment.plan.closed_loop import describe_loops
from experiment.progress import Progress, minutes
from experiment.results.folder import ResultsFolder, check_room, read_json, write_json
from experiment.results.manifest import git_state, manifest_of, now
from experiment.trial.finished_trials import TrialFiles, name_of
from experiment.trial.outcome import VEGETA, Trial
from experiment.trial.run import run_trial
from hops.gates.limits import gate_name
from hops.gates.machine_speed import with_speed_gates
from hops.gates.verdict import failing_gates, verdict_of
from hops.run.documents import SCHEMA
from hops.run.documents.gate import VALID
from hops.run.documents.trial import TrialRecord
from mesh.components.shop_processes import Data
from mesh.description.ports import Ports
from mesh.paths import ROOT, jaeger_version, kong, kong_version
from mesh.runtime import system_of

if TYPE_CHECKING:
    import polars as pl

    from hops.analysis.precision import Decided

WORKLOAD = "workload.yaml"
"""File name of a copy of the workload; a resumed experiment reads this copy, so its workload stays the same."""
RunTrial = Callable[..., Trial]
"""The type of `run_trial`."""
CONCLUDING = ("experiment.trial.record", "hops.analysis.summary", "hops.report", "hops.tables.seconds", "hops.terminal")
"""Modules that a run needs after its trials, and imports during a warm-up."""
FIRST_STAGE = " of the first stage"
TRIAL_OVERHEAD_S = 6.0
"""First guess at the seconds that a trial takes in addition to warm-up and load: for start-up, the parity check,
collecting results, and shutdown."""


Measure = Callable[["Arm"], "tuple[TrialRecord, pl.DataFrame]"]
"""Runs an arm's trial unless it is finished; returns the trial's record and the rows of its journeys."""
Choose = Callable[[Plan, Measure, Progress, Path], Mapping[str, Any]]
"""Measures arms, choosing each from the results of the previous ones; returns entries for the manifest.

The path is the run's folder, for files that a resumed run needs."""


@dataclass(frozen=True, slots=True)
class Makers:
    """Factories for what trials need; `choose` chooses further arms while the plan runs."""

    tapes: Callable[[Shopload, Plan, Path, Path], Tapes] = make_tapes
    system: Callable[..., Any] = system_of
    choose: Choose | None = None
    run: RunTrial = run_trial


THE_SHOP = Makers()
"""Factories for trials of the shop."""


class Blocks:
    """The blocks of an experiment. Once a first stage has decided the number of blocks, `plan` has all of them."""

    def __init__(self, plan: Plan, folder: ResultsFolder, ports: Ports, makers: Makers, *, brief: bool) -> None:
        self.plan = plan
        self._folder = folder
        self._ports = ports
        self._makers = makers
        self._say = Progress(brief=brief)
        self._durations_s: list[float] = []
        self._decided: Decided | None = None
        self._noise = NoiseWarning()
        self._files = TrialFiles(folder.path / "trials")
        if again := self._files.recover():
            self._say(f"running trials again that were interrupted earlier: {', '.join(again)}")
        self._shopload = Shopload(BINARY)
        self._tapes = self._same_tapes(plan)
        for name, of_arms in self._tapes.loads.items():
            tape = name.replace("load", "tape", 1)
            self._say(f"{tape} {of_arms.load.sha256[:12]}…: {of_arms.load.journeys} journeys, seed {plan.seed}")

    def run_all(self, retry: int) -> None:
        """Runs every unfinished trial, and meanwhile decides which arms follow or how many blocks a precision needs."""
        trials, stage = self.plan.trials(), "" if self.plan.precision is None else FIRST_STAGE
        due = self._find_due(trials, retry)
        if not self.plan.chosen and len(due) < len(trials):
            finished = f"{len(trials) - len(due)} of {len(trials)} trials{stage} are finished"
            self._say(f"{finished}{self._describe_rest(due)}", keep=True)
        if self._makers.choose is not None:
            self._run_chosen(self._makers.choose, retry)
        elif self.plan.precision is None:
            self._run_from(1, retry)
        else:
            self._run_until(self.plan.precision, retry)
        if len(self.plan.trials()) > 1:
            self._say("all trials are finished; computing figures and intervals")

    def _run_chosen(self, choose: Choose, retry: int) -> None:
        """Runs arms, choosing each from the results of the previous ones."""
        # A trial whose result decided which arm follows must not be repeated; only the last trial may be.
        finished = [record["topology"] for record in self._files.records()]
        acted_on = {*finished} - {*finished[-1:]}
        ran: list[Arm] = []

        def measure(arm: Arm) -> tuple[TrialRecord, pl.DataFrame]:
            plan = replace(self.plan, arms=(arm,))
            if arm.tape not in self._tapes.loads:
                made = self._same_tapes(plan)
                self._tapes = replace(made, loads={**self._tapes.loads, **made.loads})
            planned = Planned(1, len(ran) + 1, arm)
            record = self._run_planned(planned, 0 if arm.label in acted_on else retry, arm.label)
            ran.append(arm)
            return record, self._files.frame("journeys", [planned])

        about = choose(self.plan, measure, self._say, self._folder.path)
        self.plan = replace(self.plan, arms=tuple(ran), about={**self.plan.about, **about})

    def _run_until(self, precision: float, retry: int) -> None:
        """Runs the first stage, and then as many further blocks as its results require."""
        first, ran = self.plan.blocks, 0
        while ran < self.plan.blocks:
            # Trials on which a decision was based must not be repeated once further blocks have run.
            acted_on = any(record["block"] > self.plan.blocks for record in self._files.records())
            self._run_from(ran + 1, 0 if acted_on else retry, FIRST_STAGE if not ran else "")
            ran = self.plan.blocks
            self._decide(first, precision)

    def _run_from(self, block: int, retry: int, stage: str = "") -> None:
        """Runs the trials from this block on."""
        trials, say = self.plan.trials(), self._say
        rest, several = [planned for planned in trials if planned.block >= block], len(trials) > 1
        for number, planned in enumerate(rest, start=1 + len(trials) - len(rest)):

            def report(record: TrialRecord, number: int = number) -> None:
                if several:
                    left = self._describe_rest(self._find_due(trials[number:], retry), stage)
                    say(f"trial {number} of {len(trials)} finished: {_verdict(record)}{left}", keep=True)
                    if warning := self._noise.after(record, len(trials)):
                        say(warning, keep=True)

            title = f"{number}/{len(trials)} {planned.arm.label}, block {planned.block}" if several else ""
            self._run_planned(planned, retry, title, report)
        # Early trials whose machine speed is far from the median that only later trials determined.
        for planned in self._find_due(rest, retry):
            self._run_planned(planned, retry, f"{planned.arm.label}, block {planned.block}")

    def _find_due(self, trials: Sequence[Planned], retry: int) -> list[Planned]:
        """Finds the trials that are unfinished, or that would be repeated now because a gate fails."""
        judged = self._judge()
        return [planned for planned in trials if _is_due(judged.get(planned.name), retry)]

    def _describe_rest(self, due: Sequence[Planned], stage: str = "") -> str:
        """Says how long these trials take; empty for none."""
        left_s = len(due) * self._trial_s
        return f"; {minutes(left_s)} left{stage}" if left_s else ""

    def _run_planned(
        self, planned: Planned, retry: int, title: str, report: Callable[[TrialRecord], None] | None = None
    ) -> TrialRecord:
        """Runs a trial unless it is finished, and repeats it up to `retry` times while a gate fails."""
        record = self._files.record(planned.name)
        while record is None or _is_due(self._judge()[planned.name], retry):
            attempt = 1 if record is None else record["attempt"] + 1
            check_room(self._folder.path)
            began = time.monotonic()
            with self._say.within(title + (f", attempt {attempt}" if title and attempt > 1 else "")):
                record = self._trial(planned, attempt)
            self._durations_s.append(time.monotonic() - began)
            if report:
                report(self._judge()[planned.name])
        return record

    def _judge(self) -> dict[str, TrialRecord]:
        """Returns the last attempt at each trial, by name, with the gate on its machine speed."""
        records = with_speed_gates(self._files.records(), self.plan.loads_of_ratios)
        used = (record for record in records if record["used"])
        return {name_of(record): record for record in used}

    @property
    def _trial_s(self) -> float:
        """Length of a trial, in seconds."""
        known = self._durations_s
        return sum(known) / len(known) if known else expected_s(self.plan) / len(self.plan.trials())

    def _decide(self, first: int, precision: float) -> None:
        """Decides the number of blocks from the results of the finished blocks."""
        # Imported here, because statistics and tables take a moment to load.
        import polars as pl

        from experiment.plan.precision import decision_sentence
        from hops.analysis.latencies import latencies_of
        from hops.analysis.precision import decide

        plan = self.plan
        journeys = self._files.frame("journeys", plan.trials())
        sides = {arm.label: journeys.filter(pl.col("topology") == arm.label) for arm in plan.arms}
        decided = decide({name: latencies_of(side, first) for name, side in sides.items()}, precision, plan.blocks)
        self.plan, self._decided = replace(plan, blocks=decided.blocks(MAX_BLOCKS)), decided
        further = [planned for planned in self.plan.trials() if planned.block > plan.blocks]
        self._say(decision_sentence(decided) + self._describe_rest(self._find_due(further, 0)), keep=True)

    def clear_line(self) -> None:
        """Clears the line of progress on a terminal."""
        self._say.clear()

    def gather(self) -> None:
        """Collects the rows of all trials, and writes the manifest."""
        from hops.run.files import MANIFEST, TRIALS
        from hops.run.rows import write_parquet

        plan, path = self.plan, self._folder.path
        vegeta = path / "vegeta"
        vegeta.mkdir(exist_ok=True)
        for planned in plan.trials():
            of_trial = path / "trials" / planned.name / VEGETA
            if of_trial.is_file():
                of_trial.rename(vegeta / f"{planned.name}.gob")
        for name, frame in self._files.frames(plan.trials()):
            write_parquet(frame, path / f"{name}.parquet")
        planned_names = {planned.name for planned in plan.trials()}
        records = self._files.records()
        for record in records:
            record["used"] &= name_of(record) in planned_names
        records = with_speed_gates(records, plan.loads_of_ratios)
        self._folder.write_json(TRIALS, {"schema": SCHEMA, "trials": records})
        self._folder.write_json(MANIFEST, self._manifest(max(row["memory_peak_mb"] for row in records if row["used"])))

    def _trial(self, planned: Planned, attempt: int) -> TrialRecord:
        began = datetime.now(UTC)
        arm, name = planned.arm, trial_name(self._folder.final.name, planned.name)
        trial = self._makers.run(
            self._makers.system(arm.topology, arm.switches, self._ports, name, data=Data(self.plan.scale, DATA_SEED)),
            self._shopload,
            self._tapes,
            arm,
            self.plan,
            self._files.scratch(planned),
            say=self._say,
            # Figures on bytes come from the sample in the first block, which must be the same for all arms.
            parity_in_full=planned.block == 1,
            meanwhile=_import_conclusions,
        )
        return self._files.finish(planned, trial, attempt=attempt, began=began, commit=git_state(ROOT)["commit"])

    def _same_tapes(self, plan: Plan) -> Tapes:
        """Makes a plan's tapes, and checks that they equal the tapes from earlier starts of the experiment."""
        folder = self._folder.path
        where = folder / "tapes"
        tapes = self._makers.tapes(self._shopload, plan, folder / WORKLOAD, where)
        noted = where / "sha256.json"
        shas = tapes.shas()
        known = read_json(noted) if noted.is_file() else {}
        if any(known.get(name, sha) != sha for name, sha in shas.items()):
            raise UsageError(
                "the generator now makes a different tape, so new trials would not be comparable with the finished "
                "ones. Resume with the version that started the experiment, or start a new one"
            )
        write_json(noted, known | shas)
        return tapes

    def _manifest(self, memory_peak_mb: float) -> dict[str, Any]:
        plan, tapes = self.plan, self._tapes
        first = tapes.loads[plan.arms[0].tape].load
        seeds = {"tape": plan.seed, "order": plan.seed, "data": DATA_SEED, "bootstrap": plan.seed}
        topologies = {arm.label: arm.topology for arm in plan.arms}
        sent = {arm.label: plan.sending(arm) for arm in plan.arms}
        closed = describe_loops([one.closed for one in sent.values() if one.closed])
        made_of = manifest_of(plan.kind, plan.name, topologies, plan.arms[0].switches, plan.workload, seeds)
        if not all(arm.switches.in_cluster for arm in plan.arms):
            made_of["versions"]["jaeger"] = jaeger_version(os.environ)
        if any(arm.switches.edge == "kong" and not arm.switches.in_cluster for arm in plan.arms):
            made_of["versions"]["kong"] = kong_version(kong(os.environ))
        return {
            "schema": SCHEMA,
            **made_of,
            "began": read_json(self._folder.path / PLAN)["began"],
            "ended": now(),
            "blocks": plan.blocks,
            **({} if self._decided is None else {"precision": asdict(self._decided)}),
            **_cluster_of(plan),
            "arms": {arm.label: arm.switches.as_dict() for arm in plan.arms},
            "mode": "open" if closed is None else "closed",
            "closed": closed,
            # A closed loop has no rate: its answers set the pace.
            "profile": asdict(plan.profile) | ({} if closed is None else {"rate": None}),
            "tapes": {"load": first.sha256, **tapes.shas()},
            "journeys": first.journeys,
            "loads": {
                arm.label: {
                    "rate": arm.rate or plan.profile.rate if arm.load is None else sent[arm.label].rate,
                    "without": arm.without,
                    "tape": tapes.loads[arm.tape].load.sha256,
                    "journeys": tapes.loads[arm.tape].load.journeys,
                    **({} if arm.load is None else asdict(arm.load)),
                }
                for arm in plan.arms
            },
            "memory_peak_mb": memory_peak_mb,
            **plan.about,
        }


def expected_s(plan: Plan) -> float:
    """Returns a first guess at how long a plan takes, in seconds."""
    loads = [plan.sending(arm) for arm in plan.arms]
    probed_s = sum(arm.probe.takes_s for arm in plan.arms if arm.probe)
    return plan.blocks * (probed_s + sum(load.warmup_s + load.duration_s + TRIAL_OVERHEAD_S for load in loads))


def _import_conclusions() -> None:
    for name in CONCLUDING:
        importlib.import_module(name)


def _cluster_of(plan: Plan) -> dict[str, Any]:
    """Describes the cluster, if the plan's arms run in one."""
    if not plan.arms[0].switches.in_cluster:
        return {}
    from mesh.kubernetes.cluster.facts import cluster_facts
    from mesh.kubernetes.cluster.kubectl import Kubectl

    return {"cluster": cluster_facts(Kubectl.current(os.environ))}


def trial_name(run: str, trial: str) -> str:
    """Returns the name that a trial has in spans and in the database."""
    return f"{run}/{trial}"


def _is_due(record: TrialRecord | None, retry: int) -> bool:
    """Returns whether a trial, judged by its gates, has to run; without a record, it has not run yet."""
    return record is None or (bool(failing_gates(record["gates"])) and record["attempt"] <= retry)


def _verdict(record: TrialRecord) -> str:
    names = failing_gates(record["gates"])
    return f"{verdict_of(record['gates'])} ({', '.join(map(gate_name, names))})" if names else VALID
