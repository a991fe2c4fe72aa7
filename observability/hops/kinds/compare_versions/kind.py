"""The kind of experiment that compares two versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from hops.analysis.summary import Measured, every_gate
from hops.gates.experiment import comparable_answers
from hops.gates.limits import kind_of
from hops.kinds.compare_versions.analysis import A, B, Versions, version_rows
from hops.kinds.compare_versions.tables import answer, section
from hops.report.view import Kind
from hops.run.documents.gate import Gate, LeftOut
from hops.run.files import RunFiles

_ANSWERS = "answers_differ"


def figures_of(measured: Measured) -> Mapping[str, Any]:
    """Computes what changed, and whether it exceeds the threshold; None if no figure could be checked."""
    manifest = measured.run.manifest
    threshold = manifest["threshold"]
    rows = version_rows(measured.latencies, measured.hops, measured.load, threshold)
    is_checked = threshold is None or any(row["verdict"] != "unknown" for row in rows)
    versions = Versions(
        checkouts=manifest["checkouts"],
        delay=manifest["delay_b"],
        allowed=manifest["allow_differences"],
        threshold=threshold,
        rows=rows,
    )
    return {"versions": versions, "beyond_threshold": any(row["beyond"] for row in rows) if is_checked else None}


def gates_of(run: RunFiles, figures: Mapping[str, Any]) -> tuple[list[Gate], list[LeftOut]]:
    """Evaluates the gates of every run; answers of journeys that may differ are not compared."""
    gates, left_out = every_gate(run, figures)
    allowed = run.manifest["allow_differences"]
    if not allowed:
        return gates, left_out
    named = [(row["block"], row["topology"]) for row in comparable_answers(run)]
    trials = pl.DataFrame(named, ["block", "topology"], orient="row")
    compared = run.journeys.filter(~pl.col("journey").is_in(allowed)).join(trials, on=["block", "topology"])
    answers = compared.group_by("seq").agg(pl.col("answer_sha256").n_unique())
    extra = int(answers["answer_sha256"].max() or 1) - 1  # type: ignore[arg-type]
    return [kind_of(_ANSWERS).evaluate(extra) if gate["name"] == _ANSWERS else gate for gate in gates], left_out


KIND = Kind(
    "Which part became slower from version a to version b, and by how much?",
    called="comparison of versions",
    pairs_of=lambda _: [(B, A)],
    figures_of=figures_of,
    gates_of=gates_of,
    conclusions=section,
    arms="versions",
    answer=answer,
)
