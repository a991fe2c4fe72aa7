"""One step of a sweep or a stress test: a replay of its own tape on a system that runs already, and its figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypedDict

import numpy as np
import numpy.typing as npt
import polars as pl
import psutil

from experiment.generator.shopload import Shopload, Tape
from experiment.plan.closed_loop import ClosedLoop
from experiment.trial.resources import ResourceSampler
from experiment.trial.trial import CLIENT, GENERATOR, JOURNEYS, watched_replay
from hops.gates.evidence import evidence_of
from hops.gates.trial import evaluate
from hops.run.rows import FAILURES, read_journeys, write_parquet
from hops.statistics.sample import percentile_interval
from hops.traces.tree import Quality
from mesh.system import System

Phase = Literal["search", "confirm", "stress"]

NS_PER_S = 1e9
NS_PER_MS = 1e6
#: Components whose share is told apart from the shop's own.
DATABASE, TELEMETRY = "postgres", "jaeger"
#: Checkouts that clients saw succeed, of all steps on one database: what the audit must find there.
ACKNOWLEDGED = "acknowledged.jsonl"
#: Most frequent errors of each class that a step keeps in words.
MESSAGES = 3
_OF_GENERATOR = ("generator_cores", "tape_exhausted", "tape_unsent", "start_lag_p99_ms")


@dataclass(frozen=True, slots=True)
class Load:
    """What one step sends.

    Attributes:
        phase: What the step is for.
        number: Of the step among those of its topology, from 1.
        tape: What is replayed.
        duration_s: Seconds of load.
        rate: Journeys a second of an open loop, in the mean; None for a closed one.
        closed: The closed loop, None for an open one.
        connections: Of all clients together.
    """

    phase: Phase
    number: int
    tape: Tape
    duration_s: float
    rate: float | None
    closed: ClosedLoop | None
    connections: int


class Step(TypedDict):
    """The figures of one step, as `sweep.json` and `stress.json` keep them.

    Latencies (ms) are those of journeys that ended ok: from the intended arrival in an open loop, from the start in a
    closed one; `p99_low_ms` and `p99_high_ms` are the ends of the 95 % interval of p99, None where too few journeys
    were sent to know it. `throughput_per_s` counts what ended ok while the load lasted; `errors` are counts by class,
    `messages` the most frequent of each in words. `*_cores` are CPU seconds for each second of the replay;
    `system_cores` is all but the generator, database and telemetry included; `other_cores` is what programs used that
    are no part of the run. `generator_limits` are the gates that say
    that the generator could not keep up, `suspect` other gates that failed; `holds` and `reasons` are the verdict of a
    sweep.
    """

    topology: str
    phase: Phase
    number: int
    rate: float | None
    users: int | None
    think_s: float | None
    connections: int
    duration_s: float
    began: str
    tape_sha256: str
    journeys_planned: int
    journeys_sent: int
    throughput_per_s: float
    p50_ms: float | None
    p99_ms: float | None
    p99_low_ms: float | None
    p99_high_ms: float | None
    max_ms: float | None
    errors: dict[str, int]
    messages: dict[str, int]
    failure_share: float | None
    under_way_most: int
    start_lag_p99_ms: float | None
    start_lag_limit_ms: float | None
    generator_cores: float
    generator_memory_mb: float
    system_cores: float
    database_cores: float
    telemetry_cores: float
    memory_mb: float
    other_cores: float
    steal_share: float | None
    cores: dict[str, float]
    generator_limits: list[str]
    suspect: list[str]
    holds: bool | None
    reasons: list[str]


def run_step(system: System, shopload: Shopload, load: Load, folder: Path) -> Step:
    """Replays one step's tape and returns its figures; leaves its rows as `journeys.parquet` in `folder`.

    Args:
        system: Runs already, and is warm.
        shopload: The generator.
        load: What is sent.
        folder: The step's own, to be made; its parent gets the checkouts that clients saw succeed.

    Raises:
        ComponentDiedError: A component ended during the load.
        GeneratorError: The generator failed.
    """
    folder.mkdir(parents=True)
    began = datetime.now(UTC)
    sampler = watched_replay(
        system,
        shopload,
        load.tape,
        folder,
        duration_s=load.duration_s,
        closed=load.closed,
        connections=load.connections,
    )
    journeys = read_journeys(folder / JOURNEYS)
    generator: dict[str, Any] = json.loads((folder / GENERATOR).read_text(encoding="utf-8"))
    step = _figures(system.topology.name, load, journeys, generator, sampler, began)
    _keep_acknowledged(folder / JOURNEYS, folder.parent / ACKNOWLEDGED)
    write_parquet(journeys, folder / "journeys.parquet")
    for spent in (JOURNEYS, "vegeta.gob"):  # what they hold is in the parquet file now, in a tenth of the space
        (folder / spent).unlink(missing_ok=True)
    return step


def _figures(
    topology: str,
    load: Load,
    journeys: pl.DataFrame,
    generator: Mapping[str, Any],
    sampler: ResourceSampler,
    began: datetime,
) -> Step:
    wall_s = float(generator["wall_s"])
    cores = {name: used / wall_s for name, used in sampler.cpu_seconds().items()}
    cores[CLIENT] = float(generator["cpu_s"]) / wall_s
    other_cores = sampler.other_cores(float(generator["cpu_s"]))
    ok = journeys.filter(pl.col("outcome") == "ok")
    latencies_ms = ok["latency_ns"].to_numpy() / NS_PER_MS
    counted = journeys["outcome"].value_counts()
    outcomes: dict[str, int] = dict(zip(counted["outcome"].to_list(), counted["count"].to_list(), strict=True))
    evidence = evidence_of(
        journeys,
        [],
        Quality(),
        journeys_planned=load.tape.journeys,
        parity_mismatches=0,
        invariants_broken=0,
        generator_cores=cores[CLIENT],
        steal_share=sampler.steal_share(),
        other_cores=other_cores,
        stress=load.phase == "stress",
        closed=load.closed is not None,
        tape_exhausted=load.closed is not None and bool(generator["closed"]["tape_exhausted"]),
    )
    gates = {gate["name"]: gate for gate in evaluate(evidence)}
    lag = gates.get("start_lag_p99_ms")
    low, high = percentile_interval(latencies_ms, 0.99) if ok.height else (None, None)
    return Step(
        topology=topology,
        phase=load.phase,
        number=load.number,
        rate=load.rate,
        users=None if load.closed is None else load.closed.vus,
        think_s=None if load.closed is None else load.closed.think_s,
        connections=int(generator["connections"]),
        duration_s=load.duration_s,
        began=began.isoformat(timespec="milliseconds"),
        tape_sha256=load.tape.sha256,
        journeys_planned=load.tape.journeys,
        journeys_sent=journeys.height,
        throughput_per_s=_ended_in_time(journeys, ok, load.duration_s) / load.duration_s,
        p50_ms=_quantile(latencies_ms, 0.5),
        p99_ms=_quantile(latencies_ms, 0.99),
        p99_low_ms=low,
        p99_high_ms=high,
        max_ms=_quantile(latencies_ms, 1.0),
        errors={name: outcomes.get(name, 0) for name in FAILURES},
        messages=_messages(journeys),
        failure_share=(journeys.height - ok.height) / journeys.height if journeys.height else None,
        under_way_most=most_under_way(journeys["started_ns"].to_numpy(), journeys["ended_ns"].to_numpy()),
        start_lag_p99_ms=None if lag is None else lag["value"],
        start_lag_limit_ms=None if lag is None else lag["limit"],
        generator_cores=cores[CLIENT],
        generator_memory_mb=float(generator["max_rss_mb"]) * 1e6 / 2**20,
        system_cores=sum(used for name, used in cores.items() if name != CLIENT),
        database_cores=cores.get(DATABASE, 0.0),
        telemetry_cores=cores.get(TELEMETRY, 0.0),
        memory_mb=sampler.peak_memory_of_all_mb(),
        other_cores=other_cores,
        steal_share=evidence.steal_share,
        cores=cores,
        generator_limits=[name for name in _OF_GENERATOR if name in gates and not gates[name]["ok"]],
        suspect=[name for name in ("steal_share", "other_cores") if not gates[name]["ok"]],
        holds=None,
        reasons=[],
    )


def most_under_way(started_ns: npt.NDArray[np.int64], ended_ns: npt.NDArray[np.int64]) -> int:
    """The most journeys that were under way at a time.

    Args:
        started_ns: When each began.
        ended_ns: When each ended, in the same order.
    """
    if not started_ns.size:
        return 0
    at = np.concatenate([ended_ns, started_ns])  # of an end and a start at the same time, the end counts first
    change = np.concatenate([np.full(ended_ns.size, -1), np.full(started_ns.size, 1)])
    return int(np.cumsum(change[np.argsort(at, kind="stable")]).max())


def cpu_seconds_used(system: System) -> float:
    """CPU seconds that all processes of a system have used so far; ended ones are left out."""
    used = 0.0
    for pid in {pid for pids in system.pids().values() for pid in pids}:
        try:
            times = psutil.Process(pid).cpu_times()
            used += times.user + times.system
        except psutil.Error:
            continue
    return used


def _ended_in_time(journeys: pl.DataFrame, ok: pl.DataFrame, duration_s: float) -> int:
    if not journeys.height:
        return 0
    over = int(journeys["started_ns"].to_numpy().min() + duration_s * NS_PER_S)
    return int((ok["ended_ns"].to_numpy() <= over).sum())


def _messages(journeys: pl.DataFrame) -> dict[str, int]:
    failed = journeys.filter(pl.col("outcome") != "ok").select("outcome", pl.col("error").fill_null(""))
    counts = failed.group_by("outcome", "error").len().sort("len", "error", descending=[True, False])
    shown = counts.group_by("outcome", maintain_order=True).head(MESSAGES).sort("len", descending=True)
    return {f"{row['outcome']}: {row['error']}": row["len"] for row in shown.to_dicts()}


def _quantile(values: npt.NDArray[np.float64], share: float) -> float | None:
    return float(np.quantile(values, share)) if values.size else None


def _keep_acknowledged(rows: Path, kept: Path) -> None:
    with rows.open(encoding="utf-8") as lines, kept.open("a", encoding="utf-8") as out:
        for line in lines:
            # Cheap first: of many thousands of rows few are checkouts.
            if '"checkout"' in line and (row := json.loads(line))["journey"] == "checkout" and row["outcome"] == "ok":
                out.write(line)
