"""`make sweep` and `make stress` as a user runs them: small ones, wrong input, Ctrl-C."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

CLIMBED_S = 300
"""Seconds of the tape for the first step of a sweep."""

pytestmark = pytest.mark.e2e


def folder_of(terminal, output: str) -> Path:
    """Where a run says that its results are."""
    (line,) = [line for line in output.splitlines() if line.startswith("Results: ")]
    return terminal.root / line.removeprefix("Results: ").strip()


def read(folder: Path, kind: str) -> dict[str, Any]:
    """The document of a run."""
    found: dict[str, Any] = json.loads((folder / f"{kind}.json").read_text())
    return found


@pytest.fixture(scope="module")
def swept(terminal) -> Path:
    """A small sweep of one topology, with an objective that a busy machine meets too."""
    before = terminal.latest()
    done = terminal.make("topologies=hybrid", "profile=smoke", "objective=2s", "start=10", "max=20", "sweep")
    assert done.returncode in (0, terminal.make_failed), done.stderr
    assert "Traceback" not in done.stderr
    assert "Highest rate held with p99 below 2000 ms" in done.stdout
    assert terminal.latest() == before  # a sweep has no traces to look at
    return folder_of(terminal, done.stdout)


def test_a_sweep_climbs_and_confirms(swept: Path) -> None:
    document = read(swept, "sweep")
    assert document["complete"] is True
    steps, result = document["steps"], document["results"]["hybrid"]
    assert steps[0]["rate"] == 10.0
    assert {step["phase"] for step in steps} == {"search", "confirm"}
    assert all(step["rate"] <= 20.0 for step in steps)
    assert len({step["generator"]["tape_sha256"] for step in steps}) == len(steps)  # each has its own
    assert [step["position"] for step in steps] == list(range(1, len(steps) + 1))
    for step in steps:
        assert {"parity", "tape_unsent", "invariants_broken", "other_cores"} <= {gate["name"] for gate in step["gates"]}
    confirmed = [step["rate"] for step in steps if step["phase"] == "confirm" and step["holds"]]
    assert confirmed == ([] if result["rate"] is None else [result["rate"]])
    assert all(sum(step["errors"].values()) <= step["generator"]["journeys"] for step in steps)


def test_every_part_of_the_results_is_there(swept: Path) -> None:
    rows = pl.read_parquet(swept / "steps.parquet")
    assert rows.height == len(read(swept, "sweep")["steps"])
    for name in ("report.html", "report.md", "csv/capacity.csv", "csv/steps.csv", "csv/gates.csv"):
        assert (swept / name).stat().st_size > 0, name


def test_a_step_leaves_what_a_trial_leaves(swept: Path) -> None:
    (step, *_) = sorted((swept / "steps" / "hybrid").glob("01-*"))
    for name in ("journeys.parquet", "hops.parquet", "resources.parquet", "generator.json", "audit.json"):
        assert (step / name).is_file(), name
    rows = pl.read_parquet(step / "journeys.parquet")
    assert set(rows["topology"]) == {"hybrid"}
    assert rows.height == read(swept, "sweep")["steps"][0]["generator"]["journeys"]


def test_a_report_is_made_again_from_the_files(terminal, swept: Path) -> None:
    (swept / "report.html").unlink()
    done = terminal.make(f"run={swept.name}", "report")
    assert done.returncode == 0, done.stderr
    assert (swept / "report.html").stat().st_size > 0


def test_a_stress_test_counts_failures_and_stops_everything(terminal, swept: Path) -> None:
    done = terminal.make("topologies=hybrid", "profile=smoke", "users=20,50", "think=500ms", "stress")
    assert done.returncode in (0, terminal.make_failed), done.stderr
    assert "Killed, because" not in done.stderr
    assert "closed loop, think time 0.5 s" in done.stdout
    folder = folder_of(terminal, done.stdout)
    document = read(folder, "stress")
    assert [step["users"] for step in document["steps"]] == [20, 50]
    for step in document["steps"]:
        assert set(step["errors"]) == {"client", "server", "timeout", "wrong_answer"}
        assert 0 < step["under_way_most"] <= step["users"]
        assert step["generator"]["journeys"] >= step["users"]
        assert step["broken"] == []
        assert "failure_share" in {gate["name"] for gate in step["gates_left_out"]}
    assert (folder / "report.html").is_file()
    assert terminal.left_over() == []


def test_json_is_all_that_goes_to_standard_output(terminal, swept: Path) -> None:
    stress = [".venv/bin/python", "-m", "experiment", "stress", "--topologies", "hybrid", "--json"]
    done = terminal.run(*stress, "--profile", "smoke", "--users", "5", "--think", "1s")
    assert json.loads(done.stdout)["kind"] == "stress"


def test_an_overload_says_what_ended_ok_and_how_soon_it_was_over(terminal) -> None:
    done = terminal.make("topologies=rest", "profile=smoke", "factors=1,4", "capacity=rest:30", "overload")
    assert done.returncode in (0, terminal.make_failed), done.stderr
    assert "Traceback" not in done.stderr
    assert "30 journeys a second were given for rest" in done.stdout
    document = read(folder_of(terminal, done.stdout), "overload")
    assert document["manifest"]["switches"]["admission"] == "on"
    assert [(step["phase"], step["rate"]) for step in document["steps"]] == [("overload", 30.0), ("overload", 120.0)]
    for step in document["steps"]:
        assert step["throughput_per_s"] > 0
        assert step["broken"] == []
        # Of 10 s, 4 are the peak.
        assert sum(step["errors"].values()) < step["generator"]["journeys"]
    assert terminal.left_over() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["factors=0", "overload"], "factors=0"),
        (["factors=5,2", "overload"], "factors=5,2"),
        (["capacity=soap:9", "overload"], "soap is not measured"),
        (["topology=rest", "edge=none", "admission=on", "bench"], "admission=on needs an edge"),
        (["objective=foo", "sweep"], "objective=foo is not valid: give a duration from 1ms to 5s"),
        (["start=0", "sweep"], "start=0 is out of range: give journeys per second, from 1 to 10000"),
        (["max=99999", "sweep"], "max=99999 is out of range"),
        (["start=50", "max=20", "sweep"], "start=50 is above max=20"),
        (["profile=huge", "sweep"], "smoke, quick, full"),
        (["topologies=hybrid,soap", "sweep"], "soap"),
        (["topologies=hybrid,hybrid", "sweep"], "hybrid is given twice"),
        (["trace=2", "sweep"], "trace=2"),
        (["users=0", "stress"], "users=0 is not valid: give integers from 1 to 10000"),
        (["users=50,20", "stress"], "above the one before it"),
        (["think=soon", "stress"], "think=soon is not valid"),
        (["connections=0", "stress"], "connections=0"),
    ],
)
def test_wrong_input_is_named_and_costs_nothing(refused, arguments: list[str], message: str) -> None:
    refused(arguments, message)


def test_ctrl_c_cleans_up_and_keeps_finished_steps(terminal) -> None:
    before = set(terminal.results.glob("*-sweep*.incomplete"))
    sweep = terminal.start("topologies=hybrid", "profile=smoke", "start=10", "objective=5s", "sweep")
    until = time.monotonic() + CLIMBED_S
    while time.monotonic() < until and sweep.poll() is None:
        found = [json.loads(path.read_text()) for path in terminal.results.glob(".*-sweep.partial/sweep.json")]
        if any(document["steps"] for document in found):
            break
        time.sleep(0.2)
    terminal.interrupt(sweep)
    assert terminal.left_over() == []
    (kept,) = set(terminal.results.glob("*-sweep*.incomplete")) - before
    document = read(kept, "sweep")
    assert document["complete"] is False
    assert document["steps"]
    assert (kept / "steps.parquet").is_file()
    assert "WRONG" in (kept / "report.md").read_text()
