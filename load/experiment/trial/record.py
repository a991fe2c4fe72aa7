"""Writes a trial's rows, and makes its record with the verdicts of its gates."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from experiment.plan.arms_in_blocks import Planned
from experiment.trial.outcome import FRAMES, Trial
from hops.gates.trial import audit_gates, evaluate, left_out
from hops.run.documents.trial import ResourcesFrom, TrialRecord
from hops.run.rows import write_parquet


def write_rows(trial: Trial, folder: Path, planned: Planned) -> None:
    """Writes a trial's rows as parquet files, `block` and `topology` first; raises OSError if the disk is full."""
    labels = (pl.lit(planned.block, pl.Int32).alias("block"), pl.lit(planned.arm.label).alias("topology"))
    of_all = zip(FRAMES, (trial.journeys, trial.hops, trial.resources, trial.calls, trial.paths), strict=True)
    for name, frame in (*of_all, *trial.observed.items()):
        write_parquet(frame.select(*labels, pl.all()), folder / f"{name}.parquet")


def record_of(trial: Trial, planned: Planned, *, attempt: int, began: datetime, commit: str) -> TrialRecord:
    """Judges a finished trial by its gates, and makes its record."""
    gates = evaluate(trial.evidence)
    if trial.fault is not None:
        gates += audit_gates(trial.fault["unanswered"], trial.fault["unsettled"], gates)
    record = TrialRecord(
        block=planned.block,
        topology=planned.arm.label,
        attempt=attempt,
        position=planned.position,
        used=True,
        gates=gates,
        gates_left_out=left_out(trial.evidence),
        began=began.isoformat(timespec="milliseconds"),
        ended=datetime.now(UTC).isoformat(timespec="milliseconds"),
        commit=commit,
        phases_s=dict(trial.phases_s),
        answers_sha256=str(trial.generator["answers_sha256"]),
        cpu_s=dict(trial.cpu_s),
        rss_mb=dict(trial.rss_mb),
        memory_peak_mb=round(trial.memory_mb, 1),
        generator=dict(trial.generator),
        exemplars={journey: dict(of) for journey, of in trial.exemplars.items()},
    )
    if trial.machine_speed is not None:
        record["machine_speed"] = round(trial.machine_speed, 3)
    if trial.cache:
        record["cache"] = dict(trial.cache)
    if trial.edge_cache is not None:
        record["edge_cache"] = trial.edge_cache
    if trial.programs:
        record["programs"] = list(trial.programs)
    if trial.fault is not None:
        record["fault"] = trial.fault
    if trial.tracing is not None:
        record["tracing"] = trial.tracing
    if trial.unrequested is not None:
        record["traces_unrequested"] = trial.unrequested
    if trial.origin is not None:
        record["resources_from"] = ResourcesFrom(
            source=trial.origin.source, resolution_s=round(trial.origin.resolution_s, 1)
        )
    return record
