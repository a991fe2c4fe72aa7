"""One trial: a fresh system, parity, warm-up, the replay of a tape, and what it left."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import psycopg

from experiment.generator.shopload import Shopload, Tape, stop
from experiment.generator.tapes import Tapes
from experiment.parity.answers import ParityError, compare
from experiment.parity.reference import Reference
from experiment.plan.closed_loop import ClosedLoop
from experiment.plan.profiles import Profile
from experiment.results.folder import write_json
from experiment.trial.audit import audit, mark
from experiment.trial.edge_log import read_edge_log
from experiment.trial.exemplars import save
from experiment.trial.machine_speed import machine_speed
from experiment.trial.resources import ResourceSampler
from hops.budget.bands import exemplars
from hops.budget.budget import budgets_of
from hops.gates.evidence import evidence_of
from hops.gates.trial import Evidence
from hops.run.rows import RESOURCES, hops_frame, read_journeys
from hops.traces.jaeger import read_traces
from mesh.system import System, trial_database_url

#: Seconds that the last spans may take from their process to Jaeger's answer.
DRAIN_S = 20.0
WATCH_S = 0.25
CLIENT = "client"

#: Files of a trial's folder.
JOURNEYS = "journeys.jsonl"
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
        resources: A row for each component and look (`hops.run.rows.RESOURCES`).
        evidence: What the gates look at.
        generator: The generator's own account of the replay.
        exemplars: The traces that stand for p50 and p99, by journey.
        cpu_s: CPU seconds that each component used during the replay.
        rss_mb: Peak memory of each component, MiB.
        memory_mb: Peak memory of all components together, MiB.
        phases_s: How long each phase took, in seconds.
        machine_speed: As the function has it, mean of before the system started and after it stopped.
    """

    journeys: pl.DataFrame
    hops: pl.DataFrame
    resources: pl.DataFrame
    evidence: Evidence
    generator: Mapping[str, Any]
    exemplars: Mapping[str, Mapping[str, str]]
    cpu_s: Mapping[str, float]
    rss_mb: Mapping[str, float]
    memory_mb: float
    phases_s: Mapping[str, float]
    machine_speed: float


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
    profile: Profile,
    folder: Path,
    *,
    say: Say,
    parity_in_full: bool = True,
    closed: ClosedLoop | None = None,
) -> Trial:
    """Runs one trial on a system that is not started yet, and stops it again.

    Args:
        system: What to start; its database is a fresh copy.
        shopload: The generator.
        tapes: What to replay.
        profile: How long.
        folder: Where the generator's files and the components' logs go.
        say: Told what is going on.
        parity_in_full: Whether the whole parity sample is sent before the load, or a spot check.
        closed: The closed loop that takes the journeys; None if they go at the tape's times.

    Raises:
        ParityError: The system's answers are not the data's.
        MeshError: A component did not start, or died.
        GeneratorError: The generator failed.
        HopsError: The traces could not be read.
    """
    clock = Clock()
    folder.mkdir(parents=True)
    speed_before = machine_speed()
    say(f"starting {system.topology.name}: database, Jaeger, services, gateways, edge")
    try:
        with system:
            mark(system.database.admin_url, system.database_name, system.trial)
            clock.lap("start")
            sample = tapes.parity if parity_in_full else tapes.spot_check
            compared = check_parity(system, shopload, sample, folder)
            say(f"parity holds: {compared} journeys answered as the data says")
            clock.lap("parity")
            say(f"warming up for {profile.warmup_s} s, not counted")
            shopload.warm_up(tapes.warmup, system.target, folder / "warmup", duration_s=profile.warmup_s, closed=closed)
            clock.lap("warmup")
            if closed is None:
                say(f"replaying {tapes.load.journeys} journeys in {profile.duration_s} s ({profile.rate:g}/s)")
            else:
                say(f"replaying for {profile.duration_s} s: {closed}")
            sampler = watched_replay(system, shopload, tapes.load, folder, duration_s=profile.duration_s, closed=closed)
            clock.lap("replay")
            journeys = read_journeys(folder / JOURNEYS)
            wanted = journeys.filter(pl.col("sampled"))["trace_id"].to_list()
            say(f"reading {len(wanted)} traces from Jaeger")
            fetched = read_traces(system.ports.url("jaeger-query-http"), wanted, patience_s=DRAIN_S)
            budgets, quality = budgets_of(fetched.traces.values())
            hops = hops_frame(budgets)
            chosen = exemplars(hops)
            save(system.ports.url("jaeger-query-http"), chosen, folder / EXEMPLARS)
            counts = system.span_counts()
            findings = audit(system.database.admin_url, system.database_name, folder / JOURNEYS)
            write_json(folder / "audit.json", findings)
            broken = [finding["promise"] for finding in findings["invariants"] if not finding["ok"]]
            say("audit: " + (f"BROKEN: {'; '.join(broken)}" if broken else "every invariant of the shop holds"))
            clock.lap("collect")
    finally:
        keep_logs(system, folder)
    speed_after = machine_speed()
    clock.lap("stop")
    generator = json.loads((folder / GENERATOR).read_text(encoding="utf-8"))
    evidence = evidence_of(
        journeys,
        budgets,
        quality,
        journeys_planned=tapes.load.journeys,
        parity_mismatches=0,  # a difference would have ended the trial before the load
        invariants_broken=len(broken),
        generator_cores=float(generator["cpu_s"]) / float(generator["wall_s"]),
        steal_share=sampler.steal_share(),
        other_cores=sampler.other_cores(float(generator["cpu_s"])),
        logged=None if system.edge_log is None else read_edge_log(system.edge_log, wanted),
        spans_dropped=int(generator["spans_dropped"]) + counts.refused + counts.failed,
        closed=closed is not None,
        tape_exhausted=closed is not None and bool(generator["closed"]["tape_exhausted"]),
    )
    clock.lap("analysis")
    return Trial(
        journeys=journeys,
        hops=hops,
        resources=pl.DataFrame([asdict(sample) for sample in sampler.samples], schema=RESOURCES),
        evidence=evidence,
        generator=generator,
        exemplars=chosen,
        cpu_s={**sampler.cpu_seconds(), CLIENT: float(generator["cpu_s"])},
        rss_mb=sampler.peak_memory_mb(),
        memory_mb=sampler.peak_memory_of_all_mb(),
        phases_s=clock.phases_s,
        machine_speed=(speed_before + speed_after) / 2,
    )


def check_parity(system: System, shopload: Shopload, tape: Tape, folder: Path) -> int:
    """Sends a parity sample, and compares its answers with the data; returns how many journeys it has.

    Raises:
        ParityError: An answer is not the data's.
    """
    rows = shopload.sample(tape, system.target, folder / PARITY)
    with psycopg.connect(trial_database_url(system), connect_timeout=10) as connection:
        differences = compare(rows, Reference(connection))
    if differences:
        raise ParityError(system.topology.name, len(rows), differences)
    return len(rows)


def watched_replay(
    system: System,
    shopload: Shopload,
    tape: Tape,
    folder: Path,
    *,
    duration_s: float,
    closed: ClosedLoop | None = None,
    connections: int = 0,
) -> ResourceSampler:
    """Replays a tape against a running system, and samples what every component uses meanwhile.

    Args:
        system: Which.
        shopload: The generator.
        tape: What to replay.
        folder: Where the generator's files go.
        duration_s: Seconds of load.
        closed: The closed loop that takes the journeys; None if they go at the tape's times.
        connections: Of all clients together; 0 for as many as the system's switches say.

    Raises:
        ComponentDiedError: A component ended during the load.
        GeneratorError: The generator failed.
    """
    replay = shopload.start_replay(
        tape,
        system.target,
        folder,
        trace=system.switches.trace,
        duration_s=duration_s,
        closed=closed,
        connections=connections,
    )
    with ResourceSampler(lambda: {**system.pids(), CLIENT: [replay.pid]}) as sampler:
        load_over = time.monotonic() + duration_s
        try:
            while replay.poll() is None and time.monotonic() < load_over:
                system.check()
                time.sleep(WATCH_S)
            shopload.finish_replay(replay)
        finally:
            stop(replay)  # it has ended, unless the user or a dead component ended the trial
    return sampler


def keep_logs(system: System, folder: Path) -> None:
    """Copies the components' logs below a folder."""
    logs = folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    for log in (*system.logs.glob("*.log"), *system.logs.glob("*.jsonl")):
        if log.stat().st_size:
            shutil.copy2(log, logs / log.name)
