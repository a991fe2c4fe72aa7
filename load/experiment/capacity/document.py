"""What a sweep or a stress test leaves: `sweep.json` or `stress.json`, and `steps.parquet`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypedDict, cast

import polars as pl

from experiment.capacity.step import GENERATOR_GATES, Step, load_of
from experiment.results.folder import write_json
from experiment.results.manifest import now
from hops.gates.experiment import failed, worst_of
from hops.gates.limits import gate_failure
from hops.run.files import read_document
from hops.run.rows import write_parquet

SCHEMA = 2
STEPS = "steps.parquet"
Kind = Literal["sweep", "stress"]


class TopologyResult(TypedDict):
    """The result of one topology.

    `rate` is the highest rate that was confirmed, `failed` the lowest that was seen to fail, `limit` what stood between
    (see `capacity.search.Found`); a stress test has None, None and `unknown`. `stopped` says why the topology came to
    its end before the steps did.
    """

    rate: float | None
    failed: float | None
    limit: str
    tried: list[float]
    stopped: str | None


class Document(TypedDict):
    """The whole file. `complete` is false while steps are still to come, and for good if they never came.

    `options` are the user's choices; `results` has an entry for each topology that is finished.
    """

    schema: int
    kind: Kind
    name: str
    complete: bool
    manifest: dict[str, Any]
    options: dict[str, Any]
    results: dict[str, TopologyResult]
    steps: list[Step]


class Recorder:
    """Keeps steps and results on disk as they come, each time whole.

    Args:
        folder: The results folder.
        kind: Kind of the run.
        manifest: What the run is made of, without its times.
        options: The user's choices.
    """

    def __init__(self, folder: Path, kind: Kind, manifest: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        self._folder = folder
        self.document = Document(
            schema=SCHEMA,
            kind=kind,
            name=manifest["name"],
            complete=False,
            manifest={**manifest, "began": now(), "ended": None},
            options=dict(options),
            results={},
            steps=[],
        )
        self._write()

    def step(self, step: Step) -> None:
        """Keeps a finished step."""
        self.document["steps"].append(step)
        self._write()

    def result(self, topology: str, result: TopologyResult) -> None:
        """Keeps the result of a topology."""
        self.document["results"][topology] = result
        self._write()

    def end(self, *, complete: bool) -> Document:
        """Notes the end, writes the rows of all steps, and returns the whole document."""
        self.document["complete"] = complete
        self.document["manifest"]["ended"] = now()
        self._write()
        if self.document["steps"]:
            write_parquet(steps_frame(self.document), self._folder / STEPS)
        return self.document

    def _write(self) -> None:
        write_json(self._folder / f"{self.document['kind']}.json", self.document)


def topologies(document: Document) -> list[str]:
    """The topologies with steps or a result, in the order in which they ran."""
    return list(dict.fromkeys([*(step["topology"] for step in document["steps"]), *document["results"]]))


def by_load(document: Document, topology: str) -> list[Step]:
    """A topology's steps by rising load, those of one load in their order."""
    steps = [step for step in document["steps"] if step["topology"] == topology]
    return sorted(steps, key=lambda step: (load_of(step), step["position"]))


def confirmed(document: Document, topology: str) -> Step | None:
    """The step that confirmed a topology's rate; None if none did."""
    result = document["results"].get(topology)
    if result is None or result["rate"] is None:
        return None
    steps = [step for step in by_load(document, topology) if step["phase"] == "confirm" and step["holds"]]
    return next((step for step in steps if step["rate"] == result["rate"]), None)


def claimed(document: Document, topology: str) -> list[Step]:
    """The steps that a topology's result rests on: the one that confirmed its rate, or all of a stress test."""
    if document["kind"] == "stress":
        return by_load(document, topology)
    step = confirmed(document, topology)
    return [] if step is None else [step]


def suspect_reasons(document: Document, topology: str) -> list[str]:
    """Why a topology's figures must not be trusted, or are not there; empty if they are sound."""
    result = document["results"].get(topology)
    if result is None:
        return ["not finished"]
    reasons = [f"stopped: {result['stopped']}"] if result["stopped"] else []
    if document["kind"] == "sweep" and not result["stopped"] and result["rate"] is None:
        reasons.append("no rate was confirmed")
    broken = dict.fromkeys(promise for step in by_load(document, topology) for promise in step["broken"])
    reasons += [f"invariant broken: {promise}" for promise in broken]
    told = (*GENERATOR_GATES, "invariants_broken")
    gates = worst_of(claimed(document, topology))
    return reasons + [gate_failure(gate) for gate in gates if not gate["ok"] and gate["name"] not in told]


def read_capacity(folder: Path) -> Document | None:
    """Reads the document of a sweep or a stress test; None if the folder holds neither.

    Raises:
        MalformedRunError: It is cut short, or of another schema; names the file and what to do.
    """
    for kind in ("sweep", "stress"):
        if (folder / f"{kind}.json").is_file():
            return cast("Document", read_document(folder / f"{kind}.json", SCHEMA))
    return None


def steps_frame(document: Document) -> pl.DataFrame:
    """The steps as rows: each figure in a column of its own, names joined by commas, no messages."""
    rows = []
    for step in document["steps"]:
        row: dict[str, Any] = {name: value for name, value in step.items() if not isinstance(value, list | dict)}
        row |= {f"{name}_ms": value for name, value in step["latency_ms"].items()}
        for name, (low, high) in step["latency_ci95"].items():
            row |= {f"{name}_low_ms": low, f"{name}_high_ms": high}
        row |= {f"errors_{name}": count for name, count in step["errors"].items()}
        row |= {f"cpu_s_{name}": used_s for name, used_s in step["cpu_s"].items()}
        row |= {f"gate_{gate['name']}": gate["value"] for gate in step["gates"]}
        row |= {"gates_failed": ", ".join(failed(step["gates"])), "reasons": "; ".join(step["reasons"])}
        rows.append({**row, "journeys": step["generator"]["journeys"], "wall_s": step["generator"]["wall_s"]})
    return pl.DataFrame(rows, infer_schema_length=None)
