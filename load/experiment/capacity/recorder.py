"""Keeps what a sweep or a stress test measures: `sweep.json` or `stress.json`, and `steps.parquet`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from experiment.results.folder import write_json
from experiment.results.manifest import now
from hops.gates.verdict import failing_gates
from hops.kinds.capacity.document import SCHEMA, Document, Kind, Step, TopologyResult
from hops.run.rows import write_parquet

STEPS = "steps.parquet"


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
        row |= {"gates_failed": ", ".join(failing_gates(step["gates"])), "reasons": "; ".join(step["reasons"])}
        rows.append({**row, "journeys": step["generator"]["journeys"], "wall_s": step["generator"]["wall_s"]})
    return pl.DataFrame(rows, infer_schema_length=None)
