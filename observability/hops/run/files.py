"""A results folder as it is on disk; it is read and checked completely before anything is computed from it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict, cast

import msgspec
import polars as pl

from hops.errors import MalformedRunError
from hops.run.documents import SCHEMA
from hops.run.documents.cache import NOTHING_ASKED, CacheCounts
from hops.run.documents.manifest import Manifest
from hops.run.documents.summary import Summary
from hops.run.documents.trial import ResourcesFrom, TrialRecord
from hops.run.loads import tape_of
from hops.run.rows import (
    AT_EDGE,
    CALLS,
    HOPS,
    JOURNEYS,
    OBSERVED,
    OPTIONAL,
    PATHS,
    QUEUED,
    RESOURCES,
    SAMPLE,
    read_rows,
    write_whole,
)

MANIFEST = "manifest.json"
TRIALS = "trials.json"
SUMMARY = "summary.json"
FRAMES = {"journeys": pl.Schema([*JOURNEYS.items(), *AT_EDGE.items()]), "hops": HOPS, "resources": RESOURCES}
HOPS_FILE = "hops.parquet"
JOURNEYS_FILE = "journeys.parquet"
CALLS_FILE = "calls.parquet"
PATHS_FILE = "paths.parquet"
LABELS: dict[str, pl.DataType] = {"block": pl.Int32(), "topology": pl.String()}
SAMPLE_FILE = "parity_answers.jsonl"


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The measurements of a run.

    Args:
        trials: Every trial, including trials that a later attempt replaced.
        journeys: Rows of `run.rows.JOURNEYS` with `block` and `topology` as the first columns, of the used trials.
        hops: Rows of `run.rows.HOPS`, likewise.
        resources: Rows of `run.rows.RESOURCES`, likewise.
        calls: Rows of `run.rows.CALLS` and `run.rows.QUEUED`, likewise; empty if the run kept none.
        observed: Rows of `run.rows.OBSERVED`, likewise, by the name of their file; empty if no trial had a probe.
        labels: Names of topologies in the names of their trials' folders, where the two differ.
        paths: Rows of `run.rows.PATHS`, likewise; empty if the run kept none.
    """

    path: Path
    manifest: dict[str, Any]
    trials: list[TrialRecord]
    journeys: pl.DataFrame
    hops: pl.DataFrame
    resources: pl.DataFrame
    calls: pl.DataFrame
    observed: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    paths: pl.DataFrame = field(default_factory=lambda: _with_labels(PATHS).to_frame())

    @property
    def topologies(self) -> list[str]:
        """The topologies, in the order in which the user named them."""
        return list(self.manifest["topologies"])

    def tape_of(self, topology: str) -> str:
        """SHA-256 of the tape that a topology or arm replayed."""
        return tape_of(self.manifest, topology)

    @property
    def used(self) -> list[TrialRecord]:
        """The trials whose figures count, by block and topology."""
        order = {name: index for index, name in enumerate(self.topologies)}
        return sorted(
            (row for row in self.trials if row["used"]), key=lambda row: (row["block"], order[row["topology"]])
        )

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return len({row["block"] for row in self.used})

    @property
    def first_stage(self) -> int | None:
        """Number of blocks in the first stage (`hops.statistics.two_stage`); None if all blocks were planned."""
        asked = self.manifest.get("precision")
        return None if asked is None else int(asked["first_stage"])

    @property
    def resources_from(self) -> ResourcesFrom | None:
        """Source of the resources, and the coarsest resolution of all trials; None if it is one machine's kernel."""
        origins = [trial["resources_from"] for trial in self.used if "resources_from" in trial]
        if not origins:
            return None
        sources = sorted({origin["source"] for origin in origins})
        coarsest = max(origin["resolution_s"] for origin in origins)
        return ResourcesFrom(source=" and ".join(sources), resolution_s=coarsest)

    @property
    def cache(self) -> dict[str, dict[str, CacheCounts]]:
        """Rows requested from the cache during the load, by topology and component; empty for a run without a cache."""
        counts: dict[str, dict[str, CacheCounts]] = {}
        for trial in self.used:
            for component, new in trial.get("cache", {}).items():
                so_far = counts.setdefault(trial["topology"], {}).get(component, NOTHING_ASKED)
                counts[trial["topology"]][component] = CacheCounts(
                    asked=so_far["asked"] + new["asked"],
                    hits=so_far["hits"] + new["hits"],
                    unanswered=so_far["unanswered"] + new["unanswered"],
                )
        return counts

    def trial_path(self, block: int, topology: str) -> Path:
        """Gives the folder of a used trial."""
        return self.path / trial_folder(self.labels.get(topology, topology), block)

    def of_arms(self, names: Mapping[str, str]) -> RunFiles:
        """Selects arms of the run by their labels, and renames them."""
        manifest = dict(self.manifest)
        for key in ("topologies", "arms", "loads"):
            manifest[key] = {name: manifest[key][label] for label, name in names.items()}
        chosen = pl.col("topology").is_in(list(names))

        def rename(rows: pl.DataFrame) -> pl.DataFrame:
            return rows.filter(chosen).with_columns(pl.col("topology").replace(names))

        trials = [
            cast("TrialRecord", {**row, "topology": names[row["topology"]]})
            for row in self.trials
            if row["topology"] in names
        ]
        return replace(
            self,
            manifest=manifest,
            trials=trials,
            journeys=rename(self.journeys),
            hops=rename(self.hops),
            resources=rename(self.resources),
            calls=rename(self.calls),
            observed={name: rename(frame) for name, frame in self.observed.items()},
            labels={name: label for label, name in names.items()},
            paths=rename(self.paths),
        )

    def without_blocks(self, blocks: Collection[int]) -> RunFiles:
        """Leaves out the trials of some blocks, and their journeys; all other rows stay."""
        trials = [row for row in self.trials if row["block"] not in blocks]
        return replace(self, trials=trials, journeys=self.journeys.filter(~pl.col("block").is_in(list(blocks))))

    def sample(self, topology: str) -> pl.DataFrame:
        """Bytes on the wire of journeys sent alone (`run.rows.SAMPLE`), from the first block that has them."""
        for row in self.used:
            file = self.trial_path(row["block"], topology) / SAMPLE_FILE
            if row["topology"] == topology and file.is_file():
                return read_rows(file, SAMPLE)
        return SAMPLE.to_frame()


class Trials(TypedDict):
    """`trials.json`."""

    trials: list[TrialRecord]


def trial_folder(topology: str, block: int = 1) -> Path:
    """Gives the folder of a trial, relative to the results folder."""
    return Path("trials") / f"{block}-{topology}"


def read_run(path: Path) -> RunFiles:
    """Reads a results folder; raises `MalformedRunError`, which names the file and what to do."""
    manifest = read_document(path / MANIFEST, form=Manifest)
    trials = read_document(path / TRIALS, form=Trials)["trials"]
    if not any(row["used"] for row in trials):
        raise MalformedRunError(f"{path / TRIALS}: has no trials")
    if unknown := sorted({row["topology"] for row in trials} - set(manifest["topologies"])):
        raise MalformedRunError(f"{path / TRIALS}: topologies that are not in {MANIFEST}: {', '.join(unknown)}")
    frames = {name: _read_frame(path / f"{name}.parquet", schema) for name, schema in FRAMES.items()}
    calls, paths, *probed = (
        _read_frame(file, schema) if file.exists() else _with_labels(schema).to_frame()
        for file, schema in (
            (path / CALLS_FILE, pl.Schema([*CALLS.items(), *QUEUED.items()])),
            (path / PATHS_FILE, PATHS),
            *((path / f"{name}.parquet", schema) for name, schema in OBSERVED.items()),
        )
    )
    observed = dict(zip(OBSERVED, probed, strict=True))
    kept = frames["journeys"], frames["hops"], frames["resources"]
    return RunFiles(path, manifest, trials, *kept, calls, observed, paths=paths)


def read_document(path: Path, *, form: type = dict) -> dict[str, Any]:
    """Reads a JSON file of a run, with at least the keys of `form`; raises `MalformedRunError`, which names the
    file.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise MalformedRunError(f"{path}: the file is missing; the run's folder is incomplete") from error
    except OSError as error:
        raise MalformedRunError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise MalformedRunError(f"{path}: not valid JSON; the file may be truncated: {error}") from error
    except RecursionError as error:
        raise MalformedRunError(f"{path}: not a document of a run: it is nested too deeply") from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise MalformedRunError(
            f"{path}: the file has schema {schema} and this version reads schema {SCHEMA}: "
            "use the version that wrote the run, or measure again"
        )
    try:
        msgspec.convert(document, form)
    except msgspec.ValidationError as error:
        raise MalformedRunError(f"{path}: does not have the form of a document of a run: {error}") from error
    return cast("dict[str, Any]", document)


def _read_frame(path: Path, schema: pl.Schema) -> pl.DataFrame:
    try:
        # Rows have more columns than a report needs, and a column of millions of rows takes tens of MB.
        present = [name for name in pl.read_parquet_schema(path) if name in LABELS or name in schema]
        frame = pl.read_parquet(path, columns=present)
    except FileNotFoundError as error:
        raise MalformedRunError(f"{path}: the file is missing; the run's folder is incomplete") from error
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise MalformedRunError(f"{path}: not a valid parquet file; the file may be truncated: {error}") from error
    # These columns are missing if the edge has no log, or if nothing measured the event loops.
    absent = [name for name in (*AT_EDGE, *QUEUED) if name not in frame.columns]
    frame = frame.with_columns(pl.lit(None, pl.Int64()).alias(name) for name in absent)
    lacking = [name for name in (*LABELS, *schema) if name not in frame.columns]
    if lacking:
        raise MalformedRunError(f"{path}: missing columns: {', '.join(lacking)}")
    try:
        frame = frame.select(*LABELS, *schema).cast(_with_labels(schema))
    except pl.exceptions.PolarsError as error:
        raise MalformedRunError(f"{path}: a column has the wrong type: {error}") from error
    needed = frame.drop(*AT_EDGE, *QUEUED, *OPTIONAL, strict=False)
    if empty := [column.name for column in needed if column.null_count()]:
        raise MalformedRunError(f"{path}: columns with missing values: {', '.join(empty)}")
    return frame


def _with_labels(schema: pl.Schema) -> pl.Schema:
    return pl.Schema([*LABELS.items(), *schema.items()])


def write_summary(summary: Summary, path: Path) -> None:
    """Writes `summary.json`, whole or not at all; a figure that is not a number is an error, not `NaN`."""
    text = json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_whole(path, lambda scratch: scratch.write_text(text, encoding="utf-8"))
