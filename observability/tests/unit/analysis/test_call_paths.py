"""Mean traces by call path equal the mean hop budgets, and their differences have the same intervals."""

from __future__ import annotations

import polars as pl
import pytest

from hops.analysis.call_paths import align, frame_differences, mean_trace
from hops.analysis.hop_differences import hop_differences
from hops.analysis.summary import blocks_of, load_of, of_ok
from hops.budget.bands import banded_budgets
from hops.budget.parts import budgets_of
from hops.run.rows import PATHS, hops_frame, paths_frame
from synthetic.traces import shop_trace

SERVICE = "client;wire:→order;work:order"


def difference(run, left, right):
    paths = {name: run.paths.filter(pl.col("topology") == name) for name in (left, right)}
    rows = frame_differences(paths, load_of(run), blocks_of(run), None)
    return {row["part"]: row for row in rows}


def test_the_mean_trace_is_the_mean_hop_budget(run):
    for name, hops in of_ok(run, run.hops).items():
        frames = mean_trace(run.paths.filter(pl.col("topology") == name))
        own = dict(frames)
        for path, ms in frames.items():
            if ";" in path:
                own[path.rpartition(";")[0]] -= ms
        by_part = {}
        for path, ms in own.items():
            part = path.rpartition(";")[2]
            by_part[part] = by_part.get(part, 0.0) + ms
        budget = banded_budgets(hops)["mean"]
        assert by_part == pytest.approx(budget, abs=1e-9)
        assert frames["client"] == pytest.approx(sum(budget.values()), rel=1e-12)


def test_the_root_has_the_difference_of_the_means_with_its_interval(run):
    hops = of_ok(run, run.hops)
    pair = {name: hops[name] for name in ("plain", "rest")}
    whole = hop_differences(pair, load_of(run), blocks_of(run))[0]
    root = difference(run, "plain", "rest")["client"]
    assert root["difference_ms"] == pytest.approx(whole["difference_ms"], abs=1e-9)
    assert root["ci95"] == pytest.approx(whole["ci95"], abs=1e-9)


def test_a_delay_is_in_the_frames_around_it_alone(run):
    frames = difference(run, "plain", "slow")
    slowed = [path for path in frames if path.endswith("work:payment")]
    assert len(slowed) > 1
    for path in slowed:
        low, high = frames[path]["ci95"]
        assert low < high < 0, path
    unslowed = [row for path, row in frames.items() if path.endswith(("db:user", "work:gateway"))]
    assert unslowed
    assert all(row["ci95"][0] < 0 < row["ci95"][1] for row in unslowed)


def test_few_blocks_have_no_interval(run):
    two = run.paths.filter(pl.col("block") < 3)
    paths = {name: two.filter(pl.col("topology") == name) for name in ("plain", "rest")}
    rows = frame_differences(paths, load_of(run), {name: {1, 2} for name in paths}, None)
    assert {tuple(row["ci95"]) for row in rows} == {(None, None)}
    assert frame_differences({"a": two.clear(), "b": two}, load_of(run), {"a": {1}, "b": {1}}, None) == []


@pytest.mark.parametrize(
    ("path", "aligned"),
    [
        ("client", "client"),
        ("client;wire:client→edge", "client;wire:→edge"),
        ("client;wire:client→edge;network", "client;network"),
        ("client;wire:client→edge;proxy:edge", "client;proxy:edge"),
        ("client;wire:client→edge;proxy:edge;wire:edge→order;work:order;db:order", f"{SERVICE};db:order"),
        ("client;wire:client→order;work:order;db:order", f"{SERVICE};db:order"),
        ("client;wire:client→edge;proxy:edge;wire:edge→rest-gateway;work:rest-gateway", "client;work:gateway"),
        ("client;wire:client→edge;proxy:edge;wire:edge→rest-gateway;queue:rest-gateway", "client;queue:gateway"),
        (
            "client;work:graphql-gateway;wire:graphql-gateway→graphql-gateway-outbound;proxy:graphql-gateway-outbound;"
            "wire:graphql-gateway-outbound→order-inbound;proxy:order-inbound;wire:order-inbound→order;work:order",
            SERVICE,
        ),
        ("client;hit:edge-cache", "client;hit:edge-cache"),
    ],
)
def test_paths_of_topologies_with_and_without_gateway_are_aligned(path, aligned):
    assert align(path) == aligned


def test_topologies_with_and_without_a_gateway_share_the_frames_of_services(run):
    frames = difference(run, "plain", "rest")
    both = frames[SERVICE]
    assert both["left_ms"] > 0
    assert both["right_ms"] > 0
    assert frames["client;work:gateway"]["right_ms"] == 0


def test_rows_count_journeys_that_ended_ok():
    budgets, _ = budgets_of((shop_trace(seed) for seed in range(30)), with_paths=True)
    ids = [budget.trace_id for budget in budgets]
    outcomes = ["ok"] * 20 + ["timeout"] * 10
    journeys = pl.DataFrame({"trace_id": ids, "outcome": outcomes, "sampled": True})
    rows = paths_frame(budgets, journeys)
    assert rows.schema == PATHS
    assert rows.unique("journey")["traces"].sum() == 20
    assert rows["ns"].sum() == hops_frame(budgets[:20])["ns"].sum()
    assert rows["ns"].min() > 0
