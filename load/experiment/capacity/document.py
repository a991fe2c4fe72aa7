"""What a sweep or a stress test leaves: `sweep.json` or `stress.json`, `steps.parquet`, and a report of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypedDict

import polars as pl

from experiment.capacity.rig import Setup
from experiment.capacity.step import Step
from experiment.results.folder import write_json
from experiment.results.manifest import git_state, machine, versions
from hops.run.rows import write_parquet
from mesh.paths import ROOT

SCHEMA = 1
STEPS = "steps.parquet"
Kind = Literal["sweep", "stress"]


class TopologyResult(TypedDict):
    """What was found for one topology.

    `rate` is the highest rate that was confirmed, `failed` the lowest that was seen to fail, `limit` what stood between
    (see `capacity_search.Found`); a stress test has None, None and `unknown`. `stopped` says why the topology came to
    its end before the steps did.
    """

    rate: float | None
    failed: float | None
    limit: str
    tried: list[float]
    invariants_broken: list[str]
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
        folder: Of the results.
        kind: Of the run.
        name: Of the run.
        manifest: What the run was made of, without its times.
        options: The user's choices.
    """

    def __init__(
        self, folder: Path, kind: Kind, name: str, manifest: Mapping[str, Any], options: Mapping[str, Any]
    ) -> None:
        self._folder = folder
        self.document = Document(
            schema=SCHEMA,
            kind=kind,
            name=name,
            complete=False,
            manifest={**manifest, "began": _now(), "ended": None},
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
        """Keeps what was found for a topology."""
        self.document["results"][topology] = result
        self._write()

    def end(self, *, complete: bool) -> Document:
        """Notes the end, writes the rows of all steps, and returns the whole document."""
        self.document["complete"] = complete
        self.document["manifest"]["ended"] = _now()
        self._write()
        if self.document["steps"]:
            write_parquet(steps_frame(self.document), self._folder / STEPS)
        return self.document

    def _write(self) -> None:
        write_json(self._folder / f"{self.document['kind']}.json", self.document)


def steps_frame(document: Document) -> pl.DataFrame:
    """The steps as rows: lists joined by commas, error classes and cores in columns of their own, no messages."""
    components = sorted({name for step in document["steps"] for name in step["cores"]})
    rows = []
    for step in document["steps"]:
        row: dict[str, Any] = {
            name: ", ".join(value) if isinstance(value, list) else value
            for name, value in step.items()
            if name not in ("errors", "messages", "cores")
        }
        row |= {f"errors_{name}": count for name, count in step["errors"].items()}
        row |= {f"cores_{name}": step["cores"].get(name) for name in components}
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def suspect_reasons(document: Document, topology: str) -> list[str]:
    """Why a topology's figures must not be trusted, or are not there; empty if they are sound."""
    result = document["results"].get(topology)
    if result is None:
        return ["not finished"]
    reasons = [f"stopped: {result['stopped']}"] if result["stopped"] else []
    if document["kind"] == "sweep" and not result["stopped"] and result["rate"] is None:
        reasons.append("no rate was confirmed")
    reasons += [f"invariant broken: {promise}" for promise in result["invariants_broken"]]
    steps = [step for step in document["steps"] if step["topology"] == topology]
    if document["kind"] == "sweep":  # only the confirmation's figures are claimed
        steps = [step for step in steps if step["phase"] == "confirm" and step["rate"] == result["rate"]]
    gates = {gate for step in steps for gate in step["suspect"]}
    if "steal_share" in gates:
        reasons.append("the machine's host took more than 2 % of the CPU time (steal_share)")
    if "other_cores" in gates:
        most = max(step["other_cores"] for step in steps)
        reasons.append(f"other programs used up to {most:.2f} cores (other_cores)")
    return reasons


def manifest_of(setup: Setup) -> dict[str, Any]:
    """What a run is made of: code, machine, topologies, switches, workload, seed."""
    return {
        "git": git_state(ROOT),
        "machine": machine(),
        "versions": versions(),
        "topologies": {topology.name: topology.model_dump(mode="json") for topology in setup.topologies},
        "switches": setup.switches.as_dict(),
        "workload": setup.workload.name,
        "seed": setup.seed,
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
