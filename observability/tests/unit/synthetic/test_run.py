"""A made-up run is complete, adds up, and is the same for the same seed."""

from __future__ import annotations

import polars as pl
import pytest

from hops.budget.parts import budgets_of, bypasses_sidecars
from hops.sources.trace_set import read_sources
from synthetic.traces import shop_trace


@pytest.fixture(scope="module")
def run(make_run):
    return make_run(blocks=2, journeys_per_trial=200, seed=3)


def test_all_trials_replay_one_tape(run):
    tapes = [rows.sort("seq")["journey"].to_list() for _, rows in run.journeys.group_by("block", "topology")]
    assert all(tape == tapes[0] for tape in tapes)


def test_the_parts_of_a_trace_add_up_to_its_latency(run):
    assert run.hops["ns"].min() >= 0
    both = run.hops.group_by("trace_id").agg(pl.col("ns").sum()).join(run.journeys, on="trace_id")
    assert both.height == run.journeys["sampled"].sum()
    assert (both["ns"] == both["latency_ns"]).all()


def test_exemplars_are_traces_of_the_trial(run):
    for trial in run.used:
        file = run.trial_path(trial["block"], trial["topology"]) / "exemplars.jsonl"
        spans = [span for trace in read_sources([str(file)]).traces.values() for span in trace]
        wanted = {one for traces in trial["exemplars"].values() for one in traces.values()}
        assert {span.trace_id for span in spans} == wanted
        lengths = {span.trace_id: span.end_ns - span.start_ns for span in spans if not span.parent_id}
        rows = run.journeys.filter(pl.col("trace_id").is_in(list(lengths)))
        assert lengths == dict(zip(rows["trace_id"], rows["latency_ns"], strict=True))


def test_a_delay_lengthens_its_part(make_run, run):
    delays = {"rest": {"work:payment": 2.0}}
    slow = make_run(blocks=2, journeys_per_trial=200, seed=3, delays_ms=delays)
    mine = (pl.col("topology") == "rest") & (pl.col("part") == "work:payment")
    assert slow.hops.filter(mine)["ns"].mean() - run.hops.filter(mine)["ns"].mean() == pytest.approx(2e6)


def test_the_same_seed_gives_the_same_run(make_run, run):
    again = make_run(blocks=2, journeys_per_trial=200, seed=3)
    assert again.journeys.equals(run.journeys)
    assert again.hops.equals(run.hops)
    assert again.resources.equals(run.resources)
    assert again.trials == run.trials


def test_in_a_mesh_every_call_goes_by_way_of_two_sidecars(make_run):
    run = make_run(topologies=["hybrid"], blocks=1, journeys_per_trial=300, mesh="envoy")
    parts = run.hops["part"].unique().to_list()
    assert [part for part in parts if bypasses_sidecars(part)] == []
    assert {"proxy:edge-outbound", "proxy:order-inbound", "wire:order→order-outbound"} <= set(parts)
    budgets, quality = budgets_of(shop_trace(seed, mesh=True) for seed in range(20))
    assert quality.complete
    assert [part for budget in budgets for part in budget.crossings if bypasses_sidecars(part)] == []
