"""Runs that are kept next to the page of findings, each as its summary and manifest."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from experiment.errors import UsageError
from experiment.findings.table import FOLDER, Run
from hops.run.documents.gate import VALID, WRONG
from hops.run.files import MANIFEST, SUMMARY, read_document

KEPT_SUMMARY = f"{SUMMARY}.gz"
_OF_MANIFEST = ("schema", "kind", "name", "git", "machine", "versions", "seeds", "began", "ended", "blocks", "profile")


class Kept(NamedTuple):
    """A kept run: its summary, and what its manifest says about the commit, machine, versions and time."""

    summary: Mapping[str, Any]
    manifest: Mapping[str, Any]


def read_kept(name: str, folder: Path = FOLDER) -> Kept | None:
    """Reads the kept run with this name; returns None if no such run is kept."""
    if not (folder / name / KEPT_SUMMARY).is_file():
        return None
    with gzip.open(folder / name / KEPT_SUMMARY) as packed:
        return Kept(json.load(packed), read_document(folder / name / MANIFEST))


def keep(name: str, run: Run, results: Path, folder: Path = FOLDER) -> None:
    """Keeps the summary of a finished run, replacing an older summary.

    Raises:
        UsageError: The run was made by another command, is WRONG, or is not VALID and would replace a VALID run.
    """
    summary, manifest = read_document(results / SUMMARY), read_document(results / MANIFEST)
    _require_same(name, run, results, manifest)
    verdict, older = summary["verdict"], read_kept(name, folder)
    if verdict == WRONG or (verdict != VALID and older is not None and older.summary["verdict"] == VALID):
        raise UsageError(f"{results} is {verdict}, so it is not kept as {name}; its report says why")
    to = folder / name
    to.mkdir(exist_ok=True)
    # The compressed file contains neither a name nor a time, so the same summary always gives the same bytes.
    packed = gzip.compress(json.dumps(summary, ensure_ascii=False, separators=(",", ":")).encode(), mtime=0)
    (to / KEPT_SUMMARY).write_bytes(packed)
    kept = {key: manifest[key] for key in _OF_MANIFEST if key in manifest}
    (to / MANIFEST).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def _require_same(name: str, run: Run, results: Path, manifest: Mapping[str, Any]) -> None:
    """Refuses a run of another kind, or with another workload, number of blocks or set of topologies."""
    is_now = {
        "make": manifest["kind"],
        "workload": Path(manifest["workload"]).stem,
        "blocks": str(manifest["blocks"]),
        "topologies": ",".join(manifest["topologies"]),
    }
    wanted = {"make": run.make, **{key: str(value) for key, value in run.settings.items()}}
    if wanted.keys() & {"edge_caches", "edges", "selections"}:
        is_now.pop("topologies")  # an arm for each topology and value
    for key, value in is_now.items():
        if key in wanted and wanted[key] != value:
            raise UsageError(f"{results} has {key}={value}, but {name} needs {key}={wanted[key]}")
