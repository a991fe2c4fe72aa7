"""A short run of a topology at two distances on the real system; unit tests compare topologies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from experiment.kinds.rtt import rtt_arms
from hops.kinds.rtt.document import KIND
from hops.run.documents.summary import Summary
from hops.run.files import RunFiles
from mesh.description.topology import load_topology

from ...needs import needs_generator

FAR_MS = 30.0

pytestmark = needs_generator


@pytest.fixture(scope="module")
def measured(run_short: Callable[[str, Any], tuple[Summary, RunFiles]]) -> tuple[Summary, RunFiles]:
    return run_short(KIND, rtt_arms([load_topology("hybrid")], f"0,{FAR_MS:g}", {}))


def test_every_arm_gave_the_same_answers_to_the_same_tape(measured: tuple[Summary, RunFiles]) -> None:
    _, run = measured
    assert {row["topology"] for row in run.used} == {"hybrid-0ms", "hybrid-30ms"}
    assert len({row["answers_sha256"] for row in run.used}) == 1


def test_customers_have_separate_links_at_every_distance(measured: tuple[Summary, RunFiles]) -> None:
    _, run = measured
    emulated = {row["topology"]: row["generator"]["network"] for row in run.used}
    rtts_ms = {label: {one["rtt_ms"] for one in network["channels"].values()} for label, network in emulated.items()}
    assert rtts_ms == {"hybrid-0ms": {0}, "hybrid-30ms": {FAR_MS}}
    assert all(network["customers"] > 1 for network in emulated.values())


def test_budgets_have_the_links_time_at_every_distance(measured: tuple[Summary, RunFiles]) -> None:
    _, run = measured
    off_ns = {
        row["topology"]: [gate["value"] for gate in row["gates"] if gate["name"] == "network_off_ns"]
        for row in run.used
    }
    assert off_ns["hybrid-30ms"] == [0]
    # at 0 ms a link may take no time at all
    assert all(values in ([0], []) for values in off_ns.values())


def test_no_journey_is_faster_than_its_round_trips(measured: tuple[Summary, RunFiles]) -> None:
    _, run = measured
    far = run.journeys.filter((run.journeys["topology"].str.ends_with("-30ms")) & (run.journeys["outcome"] == "ok"))
    assert far.height > 50
    assert (far["latency_ns"] >= far["waves"] * FAR_MS * 1e6).all()


def test_one_block_gives_figures_and_no_verdicts(measured: tuple[Summary, RunFiles]) -> None:
    check = measured[0]["rtt"]
    assert check["rtts_ms"] == [0, FAR_MS]
    assert {row["topology"] for row in check["slopes"]} == {"hybrid"}
    for row in (*check["slopes"], *check["points"]):
        assert "3 blocks" in (row["reason"] or "")
    assert {row["verdict"] for row in check["points"]} == {"unknown"}


def test_the_report_compares_the_model_with_the_measurement(measured: tuple[Summary, RunFiles]) -> None:
    path = measured[1].path
    assert "needs 3 blocks, and there is 1" in (path / "report.md").read_text(encoding="utf-8")
    assert {"rtt_slopes.csv", "rtt_points.csv"} <= {file.name for file in path.glob("csv/*")}
