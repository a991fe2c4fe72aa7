"""What the report shows about a run over capacity, and what makes the run WRONG."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hops import kinds
from hops.analysis.summary import Measured
from hops.gates.verdict import verdict_of
from hops.kinds.capacity.analysis import capacity_figures, gates_of
from hops.kinds.capacity.conclusions import sentences
from hops.kinds.capacity.document import Capacity, Load, capacity_of
from hops.run.documents.gate import VALID, WRONG
from hops.run.documents.summary import Summary
from hops.run.files import RunFiles, read_run
from synthetic.of_capacity import write_capacity_run

from ...report.pages import page_of, print_view


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[Load, RunFiles]:
    """A run of each load."""
    loads: tuple[Load, ...] = ("sweep", "stress", "overload")
    return {load: read_run(write_capacity_run(tmp_path_factory.mktemp(load) / "run", load)) for load in loads}


@pytest.fixture(scope="module")
def swept(runs: Mapping[Load, RunFiles]) -> Summary:
    """The summary of a sweep; its report is made too."""
    return kinds.summary_with_report(runs["sweep"].path)


def figures_of(run: RunFiles) -> Mapping[str, Capacity]:
    """Returns the figures that only the summary of a capacity run has."""
    rows = {label: run.journeys.filter(pl.col("topology") == label) for label in run.topologies}
    return capacity_figures(Measured(run, rows, {}, {}, {}, {}, {}))


def change_rows(run: RunFiles, label: str, **columns: pl.Expr) -> RunFiles:
    """Returns the run with changed rows of one step."""
    of_step = pl.col("topology") == label
    new = {name: pl.when(of_step).then(value).otherwise(pl.col(name)).alias(name) for name, value in columns.items()}
    return replace(run, journeys=run.journeys.with_columns(**new))


def print_run(summary: Summary, *, brief: bool = False) -> str:
    return " ".join(print_view(kinds.show_run(summary, brief=brief), 160).split())


def test_a_sweep_finds_what_its_rows_show(swept: Summary, runs: Mapping[Load, RunFiles]) -> None:
    capacity, folder = capacity_of(swept), runs["sweep"].path
    assert swept["verdict"] == VALID
    assert [step["holds"] for step in capacity["steps"]] == [True, True, False, True] * 2
    of_hybrid, of_rest = capacity["results"].values()
    assert of_hybrid == {"rate": 40.0, "failed": 80.0, "limit": "shop", "tried": [40.0], "stopped": None}
    assert of_rest["limit"] == "generator"
    for shown in (print_run(swept, brief=True), (folder / "report.md").read_text()):
        assert "hybrid holds 40 journeys a second with p99 below 1,000 ms" in shown
        assert "rest holds at least 40 journeys a second" in shown
        assert "GENERATOR: it could not keep up in 3 steps (CPU of the load generator)." in shown
    assert page_of(folder).sections == ["sweep", "validity", "setup", "manifest", "glossary"]
    assert (folder / "report.html").read_text().count("<svg") >= 5
    assert {"capacity", "steps", "gates", "trials", "setup"} <= {path.stem for path in (folder / "csv").iterdir()}


def test_the_terminal_is_brief_by_default(swept: Summary) -> None:
    assert "misses; GENERATOR" not in print_run(swept, brief=True)
    assert print_run(swept).count("misses; GENERATOR") == 1


def test_figures_follow_from_the_rows(runs: Mapping[Load, RunFiles]) -> None:
    slowed = change_rows(runs["sweep"], "hybrid-4-confirm-40", latency_ns=100 * pl.col("latency_ns"))
    result = figures_of(slowed)["capacity"]["results"]["hybrid"]
    # The next rate to confirm would have been 36.
    assert (result["rate"], result["stopped"]) == (None, "the run was interrupted")


@pytest.mark.parametrize(
    ("load", "label", "columns", "said"),
    [
        ("stress", "rest-2-users-300", {"outcome": pl.lit("timeout")}, "With 300 users, 0.1 % of the journeys"),
        # The step with 300 users has no failure.
        ("stress", "rest-1-users-100", {"outcome": pl.lit("timeout")}, "With 100 users, 0.1 % of the journeys"),
        ("stress", "rest-1-users-100", {}, "In every step, fewer than 0.1 % of the journeys failed."),
        ("overload", "rest-1-peak-1", {}, "capacity= says that rest holds 40 journeys a second. At 5 times that rate"),
        ("overload", "rest-2-peak-5", {"outcome": pl.lit("server")}, "0 % of the 40. It had not recovered from a peak"),
        ("overload", "rest-1-peak-1", {"latency_ns": 100 * pl.col("latency_ns")},
         "40 journeys a second, but it did not hold that rate in this run (p99 was "),
    ],
)  # fmt: skip
def test_a_sentence_says_what_became_of_a_load(
    runs: Mapping[Load, RunFiles], load: Load, label: str, columns: dict[str, pl.Expr], said: str
) -> None:
    capacity = figures_of(change_rows(runs[load], label, **columns))["capacity"]
    (of_rest,) = [text for text in sentences(capacity) if "rest " in text]
    assert said in of_rest


def test_a_peak_that_was_over_soon_does_not_hide_one_that_was_not(runs: Mapping[Load, RunFiles]) -> None:
    capacity = figures_of(runs["overload"])["capacity"]
    for step, over_s in zip(capacity["steps"][:2], (0.0, 3.0), strict=True):
        step["recovery_s"] = over_s
    assert "It recovers within 3 s after each peak." in sentences(capacity)[0]


def with_gate(name: str, value: float, limit: float) -> Callable[[Any], Any]:
    """Adds a gate that fails to a trial."""
    return lambda one: {**one, "gates": [*one["gates"], {"name": name, "value": value, "limit": limit, "ok": False}]}


@pytest.mark.parametrize(
    ("label", "change", "verdict"),
    [
        ("hybrid-3-search-80", with_gate("failure_share", 0.2, 0.001), VALID),
        ("hybrid-4-confirm-40", with_gate("failure_share", 0.2, 0.001), WRONG),
        ("hybrid-3-search-80", with_gate("invariants_broken", 1, 0), WRONG),
        ("hybrid-4-confirm-40", with_gate("generator_cores", 0.9, 0.8), VALID),
    ],
)
def test_the_steps_that_a_result_rests_on_decide(
    runs: Mapping[Load, RunFiles], label: str, change: Callable[[Any], Any], verdict: str
) -> None:
    run = runs["sweep"]
    run = replace(run, trials=[change(one) if one["topology"] == label else one for one in run.trials])
    gates, _ = gates_of(run, figures_of(run))
    assert verdict_of(gates) == verdict


def test_every_search_of_several_blocks_counts(tmp_path: Path) -> None:
    run = read_run(write_capacity_run(tmp_path / "run", "sweep", blocks=3))
    figures = figures_of(run)
    of_hybrid, of_rest = figures["capacity"]["results"].values()
    assert (of_hybrid["searches"], of_rest["limit"]) == ([40.0] * 3, "generator")
    texts = sentences(figures["capacity"])
    assert texts[1].startswith("rest holds at least 40")
    assert texts[2] == "Not compared, because only a lower bound is known: rest."
    assert verdict_of(gates_of(run, figures)[0]) == VALID
    off = with_gate("edge_off_ms", 9, 1)
    trials = [off(one) if one["topology"] == "hybrid-12-confirm-40" else one for one in run.trials]
    assert verdict_of(gates_of(replace(run, trials=trials), figures)[0]) == WRONG
    of_hybrid["searches"] = [40.0, None, 40.0]
    assert [gate["name"] for gate in gates_of(run, figures)[0] if not gate["ok"]] == ["without_rate"]


def test_a_topology_that_ended_early_makes_a_run_wrong(runs: Mapping[Load, RunFiles]) -> None:
    run = replace(runs["sweep"], manifest={**runs["sweep"].manifest, "stopped": {"grpc": "order has ended"}})
    figures = figures_of(run)
    gates, _ = gates_of(run, figures)
    assert [gate["name"] for gate in gates if not gate["ok"]] == ["stopped", "without_rate"]
    assert "grpc ended early: order has ended." in sentences(figures["capacity"])
