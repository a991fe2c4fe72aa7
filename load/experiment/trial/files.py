"""A trial's folder: `trials/<block>-<arm>/`, there whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import polars as pl

from experiment.plan.plan import Planned
from experiment.results.folder import read_json, write_json
from experiment.trial.trial import Trial
from hops.gates.trial import evaluate, is_valid, left_out
from hops.run.documents import SCHEMA, ResourcesFrom, TrialRecord
from hops.run.rows import write_parquet

RECORD = "trial.json"
FRAMES = ("journeys", "hops", "resources", "calls")


class TrialFiles:
    """The trials of an experiment on disk. A trial's record is its last file: with it, the trial is finished.

    Args:
        root: The folder `trials` of the experiment.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def recover(self) -> list[str]:
        """Puts in order what a crash left: a finished trial gets its name, an unfinished one goes.

        Returns:
            The names of the unfinished trials, which have to run again.
        """
        self._root.mkdir(parents=True, exist_ok=True)
        unfinished = []
        for scratch in sorted(self._root.glob(".*.partial")):
            name = scratch.name.removeprefix(".").removesuffix(".partial")
            if (scratch / RECORD).is_file():
                self._give_name(scratch, name)
            else:
                shutil.rmtree(scratch)
                unfinished.append(name)
        return unfinished

    def scratch(self, planned: Planned) -> Path:
        """Where a trial may work; nothing is there yet."""
        path = self._root / f".{planned.name}.partial"
        shutil.rmtree(path, ignore_errors=True)
        return path

    def finish(self, planned: Planned, trial: Trial, *, attempt: int, began: datetime, commit: str) -> TrialRecord:
        """Writes what a trial left into its scratch folder, and gives that its name.

        An earlier attempt of the same trial is kept beside it, as `<name>.attempt<n>`.

        Raises:
            OSError: The disk is full; earlier trials are untouched.
        """
        scratch = self._root / f".{planned.name}.partial"
        write_rows(trial, scratch, planned.block, planned.arm.label)
        record = record_of(
            trial,
            block=planned.block,
            topology=planned.arm.label,
            position=planned.position,
            attempt=attempt,
            began=began,
            commit=commit,
        )
        write_json(scratch / RECORD, {"schema": SCHEMA, **record})
        self._give_name(scratch, planned.name)
        return record

    def record(self, name: str) -> TrialRecord | None:
        """The record of a finished trial, None if it is not finished."""
        path = self._root / name / RECORD
        return _record(path) if path.is_file() else None

    def records(self) -> list[TrialRecord]:
        """The records of every finished trial; `used` is false for those that a later attempt replaced."""
        records = []
        for path in sorted(self._root.glob(f"[!.]*/{RECORD}")):
            record = _record(path)
            record["used"] = path.parent.name == f"{record['block']}-{record['topology']}"
            records.append(record)
        return sorted(records, key=lambda record: (record["block"], record["position"], record["attempt"]))

    def frames(self, trials: Sequence[Planned]) -> Iterator[tuple[str, pl.DataFrame]]:
        """The rows of all trials together, by the name of their file."""
        for name in FRAMES:
            files = [self._root / one.name / f"{name}.parquet" for one in trials]
            # Trials of an earlier version, which a resumed experiment may have, kept no calls.
            kept = [pl.read_parquet(file) for file in files if name != "calls" or file.is_file()]
            if kept:
                yield name, pl.concat(kept)

    def _give_name(self, scratch: Path, name: str) -> None:
        final = self._root / name
        if final.exists():
            attempt = cast("TrialRecord", read_json(final / RECORD))["attempt"]
            final.rename(final.with_name(f"{name}.attempt{attempt}"))
        scratch.rename(final)


def write_rows(trial: Trial, folder: Path, block: int, topology: str) -> None:
    """Writes a trial's rows as parquet files, each row with its block and topology in front.

    Raises:
        OSError: The disk is full.
    """
    labels = (pl.lit(block, pl.Int32).alias("block"), pl.lit(topology).alias("topology"))
    for name, frame in zip(FRAMES, (trial.journeys, trial.hops, trial.resources, trial.calls), strict=True):
        write_parquet(frame.select(*labels, pl.all()), folder / f"{name}.parquet")


def record_of(
    trial: Trial, *, block: int, topology: str, position: int, attempt: int, began: datetime, commit: str
) -> TrialRecord:
    """Judges a trial that has just ended by its gates, and makes its record."""
    gates = evaluate(trial.evidence)
    record = TrialRecord(
        block=block,
        topology=topology,
        attempt=attempt,
        position=position,
        used=True,
        valid=is_valid(gates),
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
    if trial.origin is not None:
        record["resources_from"] = ResourcesFrom(
            source=trial.origin.source, resolution_s=round(trial.origin.resolution_s, 1)
        )
    return record


def _record(path: Path) -> TrialRecord:
    document = read_json(path)
    document.pop("schema", None)
    return cast("TrialRecord", document)
