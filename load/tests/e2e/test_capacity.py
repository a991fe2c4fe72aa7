from __future__ import annotations

import json
import time
from typing import Any

import pytest

CLIMBED_S = 300
"""Seconds until the first step of a sweep is finished, on a busy machine."""

pytestmark = pytest.mark.e2e


def summary_of(terminal, output: str) -> dict[str, Any]:
    """Reads the summary of a run, from the folder that the run printed."""
    (line,) = [line for line in output.splitlines() if line.startswith("Results: ")]
    document: dict[str, Any] = json.loads(
        (terminal.root / line.removeprefix("Results: ").strip() / "summary.json").read_text()
    )
    return document


def test_an_interrupted_sweep_resumes_and_confirms(terminal) -> None:
    before, latest = set(terminal.results.glob("*-sweep*.incomplete")), terminal.latest()
    sweep = terminal.start("topologies=hybrid", "profile=smoke", "objective=5s", "start=10", "max=20", "sweep")
    until = time.monotonic() + CLIMBED_S
    while time.monotonic() < until and sweep.poll() is None:
        if list(terminal.results.glob(".*-sweep.partial/trials/1-*/trial.json")):
            break
        time.sleep(0.2)
    terminal.interrupt(sweep)
    assert terminal.left_over() == []
    (kept,) = set(terminal.results.glob("*-sweep*.incomplete")) - before
    name = kept.name.removesuffix(".incomplete")
    done = terminal.make(f"resume={name}", "verbose=on", "capacity")
    assert done.returncode in (0, terminal.make_failed), done.stderr
    assert "Traceback" not in done.stderr
    assert "Highest rate held with p99 below 5000 ms" in done.stdout
    assert terminal.latest() == latest  # a sweep keeps no traces
    summary = summary_of(terminal, done.stdout)
    steps, result = summary["capacity"]["steps"], summary["capacity"]["results"]["hybrid"]
    assert steps[0]["rate"] == 10.0
    assert {step["phase"] for step in steps} == {"search", "confirm"}
    confirmed = [step["rate"] for step in steps if step["phase"] == "confirm" and step["holds"]]
    assert confirmed == ([] if result["rate"] is None else [result["rate"]])
    assert {"parity", "invariants_broken", "other_cores", "without_rate"} <= {gate["name"] for gate in summary["gates"]}


def test_a_stress_test_counts_failures_and_stops_everything(terminal) -> None:
    done = terminal.make("topologies=hybrid", "profile=smoke", "users=20,50", "think=500ms", "verbose=on", "stress")
    assert done.returncode in (0, terminal.make_failed), done.stderr
    assert "were killed" not in done.stderr
    assert "closed loop, mean think time 0.5 s" in done.stdout
    summary = summary_of(terminal, done.stdout)
    assert [step["users"] for step in summary["capacity"]["steps"]] == [20, 50]
    for step in summary["capacity"]["steps"]:
        assert 0 < step["under_way_most"] <= step["users"]
        assert step["journeys"] >= step["users"]
    assert terminal.left_over() == []


def test_an_overload_reports_successes_and_recovery(terminal) -> None:
    run = [".venv/bin/python", "-m", "experiment", "capacity", "--load", "overload", "--topologies", "rest", "--json"]
    done = terminal.run(*run, "--profile", "smoke", "--factors", "1,4", "--capacity", "rest:30")
    summary = json.loads(done.stdout)
    assert summary["switches"]["admission"] == "on"
    steps = summary["capacity"]["steps"]
    assert [(step["phase"], step["rate"]) for step in steps] == [("peak", 30.0), ("peak", 120.0)]
    # 4 of the 10 s are the peak.
    whole = [summary["topologies"][step["label"]]["journeys"]["all"]["count"] for step in steps]
    assert all(0 < step["journeys"] < count for step, count in zip(steps, whole, strict=True))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["factors=0", "overload"], "factors=0"),
        (["users=100", "sweep"], "sweep has no setting users"),
        (["load=soak", "capacity"], "load=soak is unknown"),
        (["factors=5,2", "overload"], "factors=5,2"),
        (["capacity=soap:9", "overload"], "soap is not measured"),
        (["topology=rest", "edge=none", "http=1", "admission=on", "bench"], "admission=on needs an edge"),
        (["objective=foo", "sweep"], "objective=foo is not valid: give a duration from 1ms to 5s"),
        (["start=0", "sweep"], "start=0 is not valid: give journeys per second from 1 to 10000"),
        (["max=99999", "sweep"], "max=99999 is not valid"),
        (["start=50", "max=20", "sweep"], "start=50 is above max=20"),
        (["profile=huge", "sweep"], "smoke, quick, full"),
        (["topologies=hybrid,soap", "sweep"], "soap"),
        (["topologies=hybrid,hybrid", "sweep"], "hybrid is given twice"),
        (["trace=2", "sweep"], "trace=2"),
        (["users=0", "stress"], "users=0 is not valid: give an integer from 1 to 10000"),
        (["users=50,20", "stress"], "above the one before it"),
        (["think=soon", "stress"], "think=soon is not valid"),
        (["connections=0", "stress"], "connections=0"),
    ],
)
def test_wrong_input_is_named_and_costs_nothing(refused, arguments: list[str], message: str) -> None:
    refused(arguments, message)
