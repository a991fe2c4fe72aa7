"""A trial's folder, `trials/<block>-<arm>/`, which is complete or does not exist."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

from experiment.plan.arms_in_blocks import Planned
from experiment.results.folder import read_json, write_json
from experiment.trial.outcome import Trial
from hops.run.documents import SCHEMA
from hops.run.documents.trial import TrialRecord

if TYPE_CHECKING:
    import polars as pl

RECORD = "trial.json"


def name_of(record: TrialRecord) -> str:
    """Returns the name of a finished trial's folder, as `Planned.name` of a planned one."""
    return f"{record['block']}-{record['topology']}"


class TrialFiles:
    """The trials of an experiment on disk. A trial's record is written last: once it exists, the trial is finished."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def recover(self) -> list[str]:
        """Gives finished trials their names after a crash; removes unfinished ones, and returns their names."""
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
        """Returns the working folder for a trial, which does not exist yet."""
        path = self._root / f".{planned.name}.partial"
        shutil.rmtree(path, ignore_errors=True)
        return path

    def finish(self, planned: Planned, trial: Trial, *, attempt: int, began: datetime, commit: str) -> TrialRecord:
        """Writes a trial's results into its scratch folder, and gives the folder its name.

        An earlier attempt of the same trial is kept next to it, as `<name>.attempt<n>`.

        Raises:
            OSError: The disk is full; earlier trials are untouched.
        """
        # Not imported at the top, so that the first trial does not wait for the import of tables.
        from experiment.trial.record import record_of, write_rows

        scratch = self._root / f".{planned.name}.partial"
        write_rows(trial, scratch, planned)
        record = record_of(trial, planned, attempt=attempt, began=began, commit=commit)
        write_json(scratch / RECORD, {"schema": SCHEMA, **record})
        self._give_name(scratch, planned.name)
        return record

    def record(self, name: str) -> TrialRecord | None:
        """Reads the record of a finished trial; returns None if the trial is unfinished."""
        path = self._root / name / RECORD
        return _record(path) if path.is_file() else None

    def records(self) -> list[TrialRecord]:
        """Reads the records of all finished trials; `used` is false for attempts that a later attempt replaced."""
        records = []
        for path in sorted(self._root.glob(f"[!.]*/{RECORD}")):
            record = _record(path)
            record["used"] = path.parent.name == name_of(record)
            records.append(record)
        return sorted(records, key=lambda record: (record["block"], record["position"], record["attempt"]))

    def frames(self, trials: Sequence[Planned]) -> Iterator[tuple[str, pl.DataFrame]]:
        """Yields, for each file name, the name and the rows of all trials together."""
        names = {file.stem for one in trials for file in (self._root / one.name).glob("*.parquet")}
        for name in sorted(names):
            yield name, self.frame(name, trials)

    def frame(self, name: str, trials: Sequence[Planned]) -> pl.DataFrame:
        """Returns the rows of all trials together, read from each trial's file with this name."""
        import polars as pl

        files = [self._root / one.name / f"{name}.parquet" for one in trials]
        files = [file for file in files if file.is_file()]
        # Only trials with an edge log have the columns of `hops.run.rows.AT_EDGE`.
        return pl.concat(map(pl.read_parquet, files), how="diagonal")

    def _give_name(self, scratch: Path, name: str) -> None:
        final = self._root / name
        if final.exists():
            attempt = cast("TrialRecord", read_json(final / RECORD))["attempt"]
            final.rename(final.with_name(f"{name}.attempt{attempt}"))
        scratch.rename(final)


def _record(path: Path) -> TrialRecord:
    document = read_json(path)
    document.pop("schema", None)
    return cast("TrialRecord", document)
