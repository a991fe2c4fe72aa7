"""Why single journeys failed: the most frequent reasons, and the kinds of journeys whose answers differ."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

import polars as pl

from hops.errors import printable
from hops.gates.experiment import comparable_answers
from hops.run.documents.summary import Differing, FailureReason
from hops.run.documents.trial import TrialRecord
from hops.run.files import RunFiles

MAX_REASONS = 3
ANSWERS_FILE = "answers.jsonl"
"""File in a trial's folder: what a target other than the shop answered to the first journey of each kind, by step."""
_VARYING = r'"(?:\\.|[^"\\])*"|[\w-]*\d[\w-]{3,}'
"""Matches quoted texts, and words with a digit that are longer than a status code: identifiers, ports, times."""


def failures_of(run: RunFiles) -> list[FailureReason]:
    """Lists the reasons for which journeys failed, the most frequent first."""
    by = ["topology", "journey", "outcome"]
    reasons = (
        run.journeys.lazy()
        .filter((pl.col("outcome") != "ok") & (pl.col("error") != ""))
        .group_by(*by, pl.col("error").str.replace_all(_VARYING, "…").alias("alike"), maintain_order=True)
        .agg(pl.col("error").first().alias("reason"), pl.len().alias("count"))
        .sort("count", descending=True, maintain_order=True)
        .group_by("topology", "journey", maintain_order=True)
        .head(MAX_REASONS)
        .sort("count", descending=True, maintain_order=True)
        .select(*by, "reason", "count")
        .collect()
    )
    # A server wrote them, and a terminal would execute control characters in them.
    return cast("list[FailureReason]", [{**row, "reason": printable(row["reason"])} for row in reasons.to_dicts()])


def differing_of(run: RunFiles) -> list[Differing]:
    """Lists the kinds of journeys that trials of the same tape answered differently."""
    tapes = pl.col("topology").replace_strict({name: run.tape_of(name) for name in run.topologies})
    trials = comparable_answers(run)
    whole = pl.DataFrame(
        [(row["block"], row["topology"]) for row in trials],
        schema={"block": pl.Int32, "topology": pl.String},
        orient="row",
    )
    differing = (
        run.journeys.join(whole, on=["block", "topology"], how="semi")
        .group_by(tapes.alias("tape"), "journey", "seq")
        .agg(pl.col("answer_sha256").n_unique().alias("answers"))
        .filter(pl.col("answers") > 1)
        .group_by("journey")
        .len("count")
        .sort("journey")
    )
    steps = _steps_that_differ(run, trials) if differing.height else {}
    return [
        Differing(journey=journey, count=count, steps=steps.get(journey, [])) for journey, count in differing.rows()
    ]


def _steps_that_differ(run: RunFiles, trials: Sequence[TrialRecord]) -> dict[str, list[int]]:
    """Finds the steps of each kind of journey whose answers differed when that journey was checked, counted from 1."""
    answers: dict[str, list[list[Any]]] = {}
    for trial in trials:
        file = run.trial_path(trial["block"], trial["topology"]) / ANSWERS_FILE
        for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
            sent = json.loads(line)
            answers.setdefault(sent["journey"], []).append(sent["answer"] or [])
    return {
        journey: [place for place, step in enumerate(zip(*every, strict=False), 1) if any(a != step[0] for a in step)]
        for journey, every in answers.items()
    }
