"""A short isolation experiment on the real system: all arms, in one block."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from experiment.kinds.isolate import isolate_arms
from hops.kinds.isolate.document import KIND
from hops.run.documents.summary import Summary
from hops.run.files import RunFiles
from mesh.description.topology import load_topology

from ...needs import needs_generator

AS_IS, WITHOUT, APART = "as-is", "without-bulk_lines", "apart-bulk_lines"

pytestmark = needs_generator


@pytest.fixture(scope="module")
def isolated(run_short: Callable[[str, Any], tuple[Summary, RunFiles]]) -> tuple[Summary, RunFiles]:
    return run_short(KIND, isolate_arms(load_topology("hybrid"), "bulk_lines", {"trace": "0.5", "http": "1"}))


def upstreams(folder: Path) -> set[str]:
    return {str(line) for line in pl.read_ndjson(folder / "logs" / "edge.access.jsonl")["upstream"].unique() if line}


def test_the_others_are_the_same_journeys_in_each_arm(isolated: tuple[Summary, RunFiles]) -> None:
    _, run = isolated
    asked = {arm: run.journeys.filter(pl.col("topology") == arm).select("seq", "journey") for arm in run.topologies}
    others = asked[AS_IS].filter(pl.col("journey") != "bulk_lines")
    assert 0 < others.height < asked[AS_IS].height
    assert asked[WITHOUT].sort("seq").equals(others.sort("seq"))
    assert asked[APART].sort("seq").equals(asked[AS_IS].sort("seq"))


def test_only_the_separated_disturber_has_its_own_gateways_and_services(isolated: tuple[Summary, RunFiles]) -> None:
    _, run = isolated
    reached = {arm: upstreams(run.path / "trials" / f"1-{arm}") for arm in run.topologies}
    assert reached[AS_IS] == {"graphql-gateway", "rest-gateway"}
    assert reached[APART] == {"graphql-gateway", "rest-gateway", "rest-gateway-apart"}
    # In budgets and resources, the second set of gateways and services counts as the same components.
    parts = {arm: set(run.hops.filter(pl.col("topology") == arm)["part"]) for arm in run.topologies}
    assert not any("apart" in part for part in parts[APART])
    cpu_s = {row["topology"]: set(row["cpu_s"]) for row in run.used}
    assert cpu_s[APART] == cpu_s[AS_IS]


def test_a_measured_gain_is_shown_without_enough_journeys_to_predict(isolated: tuple[Summary, RunFiles]) -> None:
    summary, run = isolated
    rows = {row["arm"]: row for row in summary["isolation"]["rows"] if row["journey"] == "all others"}
    assert set(rows) == {WITHOUT, APART}
    assert all(row["predicted"] is None and row["verdict"] == "unknown" for row in rows.values())
    assert all("too few" in (row["reason"] or "") for row in rows.values())
    text = (run.path / "report.md").read_text(encoding="utf-8").replace("\\", "")
    assert "- without bulk_lines: measured gain " in text
    assert "nothing predicted; no verdict: too few" in text
