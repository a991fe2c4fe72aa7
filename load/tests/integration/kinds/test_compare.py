"""A short but complete experiment on the real system: two topologies, with a crash. Unit tests have several blocks."""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from experiment.blocks import Makers
from experiment.plan.arms_in_blocks import Plan, arms_of
from experiment.plan.profiles import Profile
from experiment.plan.resume import take_up
from experiment.runner import begin, run_plan
from hops.analysis.call_paths import mean_trace
from hops.run.documents.summary import Summary
from hops.run.files import read_run
from mesh.description.ports import Ports
from mesh.description.switches import parse_switches
from mesh.description.topology import load_topology
from mesh.paths import jaeger_version

from ...needs import needs_generator
from ...shared_trials import SharedTrials

WORKLOAD = Path(__file__).resolve().parents[3] / "workloads" / "default.yaml"
TINY = Profile("tiny", warmup_s=1, duration_s=5, rate=20.0, parity_samples=1)

pytestmark = needs_generator


class Crash(BaseException):
    """A crash in the middle of a trial."""


@pytest.fixture(scope="module")
def experiment(
    tmp_path_factory: pytest.TempPathFactory, shop_ports: Ports, shared_trials: SharedTrials
) -> tuple[Summary, Path]:
    results = tmp_path_factory.mktemp("results")
    arms = arms_of([load_topology(name) for name in ("grpc", "hybrid")], parse_switches(trace=0.5, http=1))
    plan = Plan("compare", "compare", arms, 1, TINY, 7, WORKLOAD)
    ran: list[str] = []

    def crash_in_the_second(system: Any, *arguments: Any, **options: Any) -> Any:
        ran.append(system.trial)
        if len(ran) == 2:
            arguments[4].mkdir(parents=True)
            raise Crash
        return shared_trials.run(system, *arguments, **options)

    with pytest.raises(Crash):
        run_plan(plan, begin(plan, results), shop_ports, makers=Makers(run=crash_in_the_second))
    folder, again = take_up(results, "latest", "compare")
    assert again.trials() == plan.trials()
    summary, path = run_plan(again, folder, shop_ports, makers=Makers(run=shared_trials.run))
    return summary, path


def test_every_trial_exists_once_and_replayed_the_whole_tape(experiment: tuple[Summary, Path]) -> None:
    run = read_run(experiment[1])
    assert Counter((row["block"], row["topology"]) for row in run.trials) == {(1, "grpc"): 1, (1, "hybrid"): 1}
    rows = run.journeys.group_by("block", "topology").agg(pl.len(), pl.col("seq").n_unique().alias("seqs"))
    assert set(rows["len"]) == set(rows["seqs"]) == {run.manifest["journeys"]}
    assert len({row["answers_sha256"] for row in run.trials}) == 1
    assert run.manifest["versions"]["jaeger"] == jaeger_version(os.environ) != ""


def test_only_the_run_s_user_may_read_kept_logs(experiment: tuple[Summary, Path]) -> None:
    kept = list(experiment[1].glob("trials/*/logs"))
    assert len(kept) == 2
    assert {stat.S_IMODE(logs.stat().st_mode) for logs in kept} == {0o700}


def test_budgets_add_up_and_hop_differences_too(experiment: tuple[Summary, Path]) -> None:
    summary, path = experiment
    gaps = {gate["name"]: gate["value"] for gate in summary["gates"]}
    assert gaps["budget_gap_ns"] == 0
    assert summary["hop_differences"]
    for row in summary["hop_differences"]:
        for parts in (row["parts"], row["groups"]):
            assert sum(part["difference_ms"] for part in parts) == pytest.approx(row["difference_ms"], abs=1e-9)
    traced = read_run(path).hops["trace_id"].n_unique()
    assert summary["topologies"]["grpc"]["journeys"]["all"]["traces"] <= traced


def test_call_paths_add_up_to_the_traced_mean(experiment: tuple[Summary, Path]) -> None:
    summary, path = experiment
    run = read_run(path)
    for name, figures in summary["topologies"].items():
        frames = mean_trace(run.paths.filter(pl.col("topology") == name))
        assert frames["client"] == pytest.approx(figures["journeys"]["all"]["traced_mean_ms"], rel=1e-12)
        # Not every draw of a short load traces a checkout.
        assert any(frame.endswith("→product;work:product;db:product") for frame in frames)


def test_figures_are_compared_and_one_block_is_too_few_for_an_interval(experiment: tuple[Summary, Path]) -> None:
    summary, _ = experiment
    (p50,) = [row for row in summary["comparisons"] if (row["journey"], row["metric"]) == ("all", "p50")]
    assert {p50["left"], p50["right"]} == {"grpc", "hybrid"}
    assert p50["difference"] == pytest.approx((p50["left_value"] or 0) - (p50["right_value"] or 0))
    assert p50["ci95"] == [None, None]
    assert p50["verdict"] == "unknown"
    assert "3 blocks" in (p50["reason"] or "")


def test_the_database_and_the_telemetry_have_their_own_share(experiment: tuple[Summary, Path]) -> None:
    for topology in experiment[0]["topologies"].values():
        cost = {name: estimate["value"] for name, estimate in topology["cost"].items()}
        assert cost["database"] > 0
        assert cost["telemetry"] > 0
        assert cost["services"] > 0


def test_the_folder_has_all_files_of_an_experiment(experiment: tuple[Summary, Path]) -> None:
    path = experiment[1]
    there = {str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()}
    assert there >= {
        *("plan.json", "workload.yaml", "manifest.json", "trials.json", "summary.json", "report.html", "report.md"),
        *("journeys.parquet", "hops.parquet", "resources.parquet", "tapes/load.jsonl", "trials/1-grpc/audit.json"),
        *("vegeta/1-grpc.gob", "vegeta/1-hybrid.gob", "trials/1-hybrid/exemplars.jsonl"),
    }
    assert not list(path.glob("trials/.*"))
    assert json.loads((path / "summary.json").read_text()) == experiment[0]
