"""A short ladder on the real system, with its lowest arms: without an edge, with an edge, and without tracing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from experiment.kinds.ladder import ladder_arms
from hops.kinds.ladder.arms import KIND
from hops.run.documents.summary import Summary
from hops.run.files import RunFiles
from mesh.description.topology import load_topology

from ...needs import needs_generator

pytestmark = needs_generator


@pytest.fixture(scope="module")
def climbed(run_short: Callable[[str, Any], tuple[Summary, RunFiles]]) -> tuple[Summary, RunFiles]:
    return run_short(KIND, ladder_arms(load_topology("hybrid"), "no-edge,edge,untraced,sdk", trace="0.5"))


def parts(run: RunFiles, arm: str) -> set[str]:
    return set(run.hops.filter(pl.col("topology") == arm)["part"])


def test_without_an_edge_each_channel_reaches_its_gateway(climbed: tuple[Summary, RunFiles]) -> None:
    fronts = {arm: {part for part in parts(climbed[1], arm) if "client→" in part} for arm in ("no-edge", "edge")}
    assert fronts["no-edge"] == {"wire:client→graphql-gateway", "wire:client→rest-gateway"}
    assert fronts["edge"] == {"wire:client→edge"}
    assert not any("edge" in part for part in parts(climbed[1], "no-edge"))


def test_every_arm_gave_the_same_answers_to_the_same_tape(climbed: tuple[Summary, RunFiles]) -> None:
    _, run = climbed
    assert {row["topology"] for row in run.used} == {"no-edge", "edge", "untraced", "sdk"}
    assert len({row["answers_sha256"] for row in run.used}) == 1


def test_each_step_is_measured_twice(climbed: tuple[Summary, RunFiles]) -> None:
    rows = {step["adds"]: step["rows"][0] for step in climbed[0]["ladder"]["steps"]}
    assert list(rows) == ["edge", "tracing", "tracing and stock SDK", "stock SDK"]
    edge = rows["edge"]
    assert edge["remainder"]["value"] == pytest.approx(edge["measured"]["value"] - edge["attributed"]["value"])
    assert min(*edge["journeys"], *edge["traces"]) > 0
    without, traced = rows["tracing"]["journeys"]
    # a journey is left out if the short trial traced all or none of its kind
    assert 0 < without == traced <= climbed[1].manifest["journeys"]
    for row in rows.values():
        assert row["verdict"] == "unknown"
        assert "3 blocks" in (row["reason"] or "")


@pytest.mark.parametrize("arm", ["edge", "sdk"])
def test_each_call_between_components_exists_once(arm: str, climbed: tuple[Summary, RunFiles]) -> None:
    _, run = climbed
    calls = run.calls.filter(pl.col("topology") == arm).group_by("caller", "callee").len()
    crossings = run.hops.filter((pl.col("topology") == arm) & pl.col("part").str.starts_with("wire:"))
    by_link = crossings.group_by("part").agg(pl.col("crossings").sum()).rows()
    assert {f"wire:{caller}→{callee}": count for caller, callee, count in calls.rows()} == dict(by_link)
    assert run.calls["between_ns"].min() >= 0
    assert "untraced" not in set(run.calls["topology"])


def test_the_report_says_what_each_step_adds(climbed: tuple[Summary, RunFiles]) -> None:
    text = (climbed[1].path / "report.md").read_text(encoding="utf-8")
    assert "No verdict: needs 3 blocks, and there is 1." in text
    assert (climbed[1].path / "csv" / "ladder.csv").is_file()
