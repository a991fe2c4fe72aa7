"""One trial: a fresh system, parity, warm-up, the replay of a tape, and what it left.

`run_trial` is the whole of it. A step of a sweep or a stress test is a trial too, on a system that earlier steps have
used, and made of the same pieces: `ready` and `Replay`.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from experiment.generator.figures import busiest_cores, by_node
from experiment.generator.shopload import Load, Shopload, Tape
from experiment.generator.tapes import Tapes
from experiment.parity.answers import check_answers
from experiment.plan.plan import Plan
from experiment.results.folder import write_json
from experiment.trial.audit import audit, mark
from experiment.trial.edge_log import read_edge_log
from experiment.trial.exemplars import save
from experiment.trial.machine_speed import machine_speed
from experiment.trial.resources import Origin
from experiment.trial.sender import CLIENT, JOURNEYS, sender_of
from experiment.trial.sidecars import sidecars_of
from hops.budget.bands import exemplars
from hops.budget.budget import Budget, beside, budgets_of
from hops.gates.edge_agreement import LoggedRequest
from hops.gates.evidence import evidence_of
from hops.gates.trial import NOT_AUDITED, Evidence, Sidecars
from hops.run.fault_notice import aborts
from hops.run.rows import RESOURCES, calls_frame, hops_frame, read_journeys
from hops.traces.clock_offset import clock_offset_ms
from hops.traces.jaeger import read_traces
from hops.traces.tree import Quality
from mesh.system import System

#: Seconds that the last spans may take from their process to Jaeger's answer.
DRAIN_S = 20.0

#: Files of a trial's folder.
PARITY = "parity_answers.jsonl"
EXEMPLARS = "exemplars.jsonl"
VEGETA = "vegeta.gob"
GENERATOR = "generator.json"

#: Tells a person what the trial is doing now.
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Trial:
    """What one trial left.

    Attributes:
        journeys: A row for each journey (`hops.run.rows.JOURNEYS`).
        hops: A row for each trace and part (`hops.run.rows.HOPS`).
        calls: A row for each call of a component by another (`hops.run.rows.CALLS`).
        resources: A row for each component and look (`hops.run.rows.RESOURCES`).
        evidence: What the gates look at.
        generator: The generator's own account of the replay.
        exemplars: The traces that stand for p50 and p99, by journey.
        cpu_s: CPU seconds that each component used during the replay.
        rss_mb: Peak memory of each component, MiB.
        memory_mb: Peak memory of all components together, MiB.
        phases_s: How long each phase took, in seconds.
        machine_speed: As the function has it, mean of before the system started and after it stopped; None for a step,
            since its system runs on.
        origin: Where CPU seconds and memory come from; None for this machine's kernel.
    """

    journeys: pl.DataFrame
    hops: pl.DataFrame
    calls: pl.DataFrame
    resources: pl.DataFrame
    evidence: Evidence
    generator: Mapping[str, Any]
    exemplars: Mapping[str, Mapping[str, str]]
    cpu_s: Mapping[str, float]
    rss_mb: Mapping[str, float]
    memory_mb: float
    phases_s: Mapping[str, float]
    machine_speed: float | None = None
    origin: Origin | None = None


@dataclass(slots=True)
class Clock:
    """Notes how long each phase takes."""

    phases_s: dict[str, float] = field(default_factory=dict)
    _since: float = field(default_factory=time.monotonic)

    def lap(self, phase: str) -> None:
        """Ends a phase; the next begins now."""
        now = time.monotonic()
        self.phases_s[phase] = round(now - self._since, 3)
        self._since = now


def run_trial(
    system: System,
    shopload: Shopload,
    tapes: Tapes,
    plan: Plan,
    folder: Path,
    *,
    say: Say,
    parity_in_full: bool = True,
) -> Trial:
    """Runs one trial on a system that is not started yet, and stops it again.

    Args:
        system: What to start; its database is a fresh copy.
        shopload: The generator.
        tapes: What to replay.
        plan: The experiment that the trial is part of.
        folder: Where the generator's files and the components' logs go.
        say: Told what is going on.
        parity_in_full: Whether the whole parity sample is sent before the load, or a spot check.

    Raises:
        ParityError: The system's answers are not the data's.
        MeshError: A component did not start, or died.
        GeneratorError: The generator failed.
        HopsError: The traces could not be read.
    """
    clock = Clock()
    sample = tapes.parity if parity_in_full else tapes.spot_check
    warmup = Load(tapes.warmup, plan.profile.warmup_s, plan.closed)
    load = Load(tapes.load, plan.profile.duration_s, plan.closed)
    speed_before = machine_speed()
    with ready(system, shopload, sample, warmup, folder, clock, say):
        say(f"replaying {load}")
        replay = Replay(system, shopload, load, folder, clock)
        say(f"reading {len(replay.sampled)} traces from Jaeger")
        replay.collect(folder / JOURNEYS)
        if replay.audited:
            broken = "; ".join(replay.broken)
            say("audit: " + (f"BROKEN: {broken}" if broken else "every invariant of the shop holds"))
        else:
            say(f"audit: left out; {NOT_AUDITED}")
    speed = (speed_before + machine_speed()) / 2
    clock.lap("stop")
    logged = None if system.edge_log is None else read_edge_log(system.edge_log, replay.sampled)
    return replay.trial(logged=logged, machine_speed=speed)


@contextmanager
def ready(
    system: System, shopload: Shopload, parity: Tape, warmup: Load, folder: Path, clock: Clock, say: Say
) -> Iterator[None]:
    """Starts a system on fresh data, and makes sure that its answers are right and that it is warm.

    After the block it is stopped, and its logs are in the folder.

    Args:
        system: What to start.
        shopload: The generator.
        parity: The sample whose answers are compared with the data.
        warmup: The load that is not counted.
        folder: Where the generator's files and the components' logs go; to be made.
        clock: Notes how long each phase takes.
        say: Told what is going on.

    Raises:
        ParityError: The system's answers are not the data's.
        MeshError: A component did not start, or died.
    """
    folder.mkdir(parents=True)
    say(f"starting {system.topology.name}: {system.in_words}")
    try:
        with system:
            mark(system.database.admin_url, system.database_name, system.trial)
            clock.lap("start")
            compared = check_answers(system, shopload, parity, folder / PARITY)
            say(f"parity holds: {len(compared)} answers match the data")
            clock.lap("parity")
            say(f"warming up for {warmup.duration_s:g} s, not counted")
            sender_of(system, shopload).warm_up(warmup, folder / "warmup")
            clock.lap("warmup")
            yield
    finally:
        _keep_logs(system, folder)


class Replay:
    """A load that is sent to a running system, and what is known of it afterwards.

    Args:
        system: Where to.
        shopload: The generator.
        load: What to send.
        folder: Where files go.
        clock: Notes how long each phase takes.

    Raises:
        ComponentDiedError: A component ended during the load.
        GeneratorError: The generator failed.

    Attributes:
        audited: Whether the data is in the database, where `collect` can audit it.
        broken: The promises about the shop's data that `collect` found not to hold.
    """

    def __init__(self, system: System, shopload: Shopload, load: Load, folder: Path, clock: Clock) -> None:
        self.audited = system.switches.store == "postgres"
        self.broken: list[str] = []
        self._system = system
        self._load = load
        self._folder = folder
        self._clock = clock
        self._budgets: list[Budget] = []
        self._quality = Quality()
        self._exemplars: Mapping[str, Mapping[str, str]] = {}
        self._hops = hops_frame([])
        self._lost_before = _spans_lost(system)
        self._spans_lost = 0
        self._sidecars: Sidecars | None = None
        self._clock_offset_ms: float | None = None
        self._resources = sender_of(system, shopload).replay(load, folder)
        self._journeys = read_journeys(folder / JOURNEYS)
        self._generator = json.loads((folder / GENERATOR).read_text(encoding="utf-8"))
        clock.lap("replay")

    @property
    def sampled(self) -> list[str]:
        """The traces of the sampled journeys."""
        return self._journeys.filter(pl.col("sampled"))["trace_id"].to_list()

    def collect(self, acknowledged: Path) -> None:
        """Reads the traces, keeps the exemplars, asks the sidecars, and audits the data if it is in the database.

        The system still runs.

        Args:
            acknowledged: Rows of journeys, whose checkouts that ended ok must all be in the data.

        Raises:
            MeshError: The audit could not be done.
            HopsError: The traces could not be read.
        """
        system = self._system
        self._sidecars = sidecars_of(system)
        jaeger = system.ports.url("jaeger-query-http")
        traces = read_traces(jaeger, self.sampled, patience_s=DRAIN_S).traces
        self._budgets, self._quality = budgets_of(traces.values())
        if system.switches.in_cluster:
            self._clock_offset_ms = clock_offset_ms(traces.values(), lambda span: system.node_of(beside(span.service)))
        self._hops = hops_frame(self._budgets)
        self._exemplars = exemplars(self._hops)
        save(jaeger, self._exemplars, self._folder / EXEMPLARS)
        self._spans_lost = _spans_lost(system) - self._lost_before
        if self.audited:
            done = audit(system.database.admin_url, system.database_name, acknowledged, as_json=True, capture=True)
            findings = json.loads(done.stdout)
            write_json(self._folder / "audit.json", findings)
            self.broken = [finding["promise"] for finding in findings["invariants"] if not finding["ok"]]
        self._clock.lap("collect")

    def trial(
        self,
        *,
        overload: bool = False,
        logged: Sequence[LoggedRequest] | None = None,
        machine_speed: float | None = None,
    ) -> Trial:
        """Puts together what the trial left.

        Args:
            overload: Whether failures are what the load is for, and no gate.
            logged: The log of an edge that has stopped: while it runs, it holds the last lines back.
            machine_speed: As `Trial` has it.
        """
        generator, resources, closed = self._generator, self._resources, self._load.closed
        # The generator accounts for itself to its end; whoever looked from outside may have missed its last moments.
        cpu_s = {**resources.cpu_seconds(), CLIENT: float(generator["cpu_s"])}
        evidence = evidence_of(
            self._journeys,
            self._budgets,
            self._quality,
            journeys_planned=self._load.tape.journeys,
            parity_mismatches=0,  # a difference would have ended the trial before the load
            invariants_broken=len(self.broken) if self.audited else None,
            generator_cores=busiest_cores(generator),
            steal_share=resources.steal_share(),
            other_cores=resources.other_cores(cpu_s.values()),
            logged=logged,
            load_nodes=len(by_node(generator)),
            spans_dropped=int(generator["spans_dropped"]) + self._spans_lost,
            sidecars=self._sidecars,
            clock_offset_ms=self._clock_offset_ms,
            audited=self.audited,
            stress=overload or bool(aborts(self._system.switches.as_dict())),
            closed=closed is not None,
            tape_exhausted=closed is not None and bool(generator["closed"]["tape_exhausted"]),
        )
        self._clock.lap("analysis")
        return Trial(
            journeys=self._journeys,
            hops=self._hops,
            calls=calls_frame(self._budgets),
            resources=pl.DataFrame([asdict(sample) for sample in resources.samples], schema=RESOURCES),
            evidence=evidence,
            generator=generator,
            exemplars=self._exemplars,
            cpu_s=cpu_s,
            rss_mb=resources.peak_memory_mb(),
            memory_mb=resources.peak_memory_of_all_mb(),
            phases_s=self._clock.phases_s,
            machine_speed=machine_speed,
            origin=resources.origin,
        )


def _spans_lost(system: System) -> int:
    counts = system.span_counts()
    return counts.refused + counts.failed


def _keep_logs(system: System, folder: Path) -> None:
    logs = folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    for log in (*system.logs.glob("*.log"), *system.logs.glob("*.jsonl")):
        if log.stat().st_size:
            shutil.copy2(log, logs / log.name)
