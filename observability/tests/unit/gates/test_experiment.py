"""The verdict on blocks and experiments: each gate over several trials fails with its own defect."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import polars as pl
import pytest

from hops.gates.experiment import experiment_gates, experiment_gates_left_out, verdicts
from hops.gates.verdict import failing_gates, verdict_of
from hops.run.documents.gate import NOISY, VALID, Gate, LeftOut
from synthetic.of_axes import arms_at_distances
from synthetic.run import Noise

CALM = Noise(block=0.01, trial=0.01)
SPREAD_LIMIT = 0.15


@pytest.fixture(scope="module")
def run(make_run):
    return make_run(blocks=3, journeys_per_trial=300, seed=5, noise=CALM)


def change_trial(run, block, topology, **fields):
    """Returns the run with some fields of one trial's record replaced."""
    trials = [{**row, **fields} if (row["block"], row["topology"]) == (block, topology) else row for row in run.trials]
    return dataclasses.replace(run, trials=trials)


def slow_down(run, where, factor=2):
    """Returns the run with longer latencies in some rows."""
    latency = pl.when(where).then(pl.col("latency_ns") * factor).otherwise("latency_ns")
    return dataclasses.replace(run, journeys=run.journeys.with_columns(latency_ns=latency))


def test_a_sound_experiment_is_valid(run):
    gates = experiment_gates(run)
    assert failing_gates(gates) == []
    assert verdict_of(gates) == VALID
    assert {"answers_differ", "code_changed", "block_spread_share"} <= {gate["name"] for gate in gates}
    assert {row["verdict"] for row in verdicts(run)} == {VALID}


def test_the_machines_speed_is_a_share_of_the_fastest(run):
    slowed = change_trial(change_trial(run, 2, "grpc", machine_speed=10.0), 1, "grpc", machine_speed=40.0)
    found = {(row["block"], row["topology"]): row["machine_speed"] for row in verdicts(slowed)}
    assert (found[1, "grpc"], found[2, "grpc"], found[2, None]) == (1.0, 0.25, None)
    unmeasured = [{name: value for name, value in row.items() if name != "machine_speed"} for row in run.trials]
    assert {row["machine_speed"] for row in verdicts(dataclasses.replace(run, trials=unmeasured))} == {None}


def test_one_noisy_trial_makes_its_block_and_the_experiment_noisy(run):
    bad = Gate(name="steal_share", value=0.05, limit=0.02, ok=False)
    noisy = change_trial(run, 2, "grpc", gates=[bad])
    assert failing_gates(experiment_gates(noisy)) == ["steal_share"]
    assert verdict_of(experiment_gates(noisy)) == NOISY
    found = {(row["block"], row["topology"]): row for row in verdicts(noisy)}
    assert found[2, "grpc"]["reasons"] == ["steal_share"]
    assert found[2, None]["reasons"] == ["steal_share"]
    assert [found[block, None]["verdict"] for block in (1, 2, 3)] == [VALID, NOISY, VALID]


def test_a_trial_that_a_later_attempt_replaced_is_shown_and_does_not_count(run):
    bad = Gate(name="steal_share", value=0.05, limit=0.02, ok=False)
    first = {**run.trials[0], "used": False, "gates": [bad]}
    again = {**run.trials[0], "attempt": 2}
    repeated = dataclasses.replace(run, trials=[first, again, *run.trials[1:]])
    assert verdict_of(experiment_gates(repeated)) == VALID
    rows = [(row["attempt"], row["used"], row["verdict"]) for row in verdicts(repeated) if row["topology"]]
    assert rows[:2] == [(1, False, NOISY), (2, True, VALID)]
    assert len(rows) == len(run.trials) + 1


def test_other_answers_in_one_trial_trip_the_gate(run):
    other = change_trial(run, 1, "rest", answers_sha256="other")
    assert failing_gates(experiment_gates(other)) == ["answers_differ"]
    one = (pl.col("block") == 1) & (pl.col("topology") == "rest") & (pl.col("seq") == 0)
    outcome = pl.when(one).then(pl.lit("failed")).otherwise("outcome").alias("outcome")
    assert not failing_gates(experiment_gates(dataclasses.replace(other, journeys=run.journeys.with_columns(outcome))))


def test_a_closed_loop_may_end_at_different_places_of_the_tape(run):
    closed = dataclasses.replace(run, manifest={**run.manifest, "mode": "closed"})
    assert failing_gates(experiment_gates(change_trial(closed, 1, "rest", answers_sha256="other"))) == []


def test_trials_on_different_code_trip_the_gate(run):
    assert failing_gates(experiment_gates(change_trial(run, 3, "hybrid", commit="another"))) == ["code_changed"]


def test_blocks_too_far_apart_trip_the_gate(run):
    apart = slow_down(run, (pl.col("block") == 2) & (pl.col("topology") == "graphql"))
    gate, alone = [gate for gate in experiment_gates(apart) if not gate["ok"]]
    assert (gate["name"], alone["name"]) == ("block_spread_share", "block_worst_share")
    # of four topologies one is twice as slow in a block: relative to the geometric mean r, r * 2^(3/4), r
    assert gate["value"] == pytest.approx(0.75 * math.log(2) / math.sqrt(3), rel=0.06)
    loads = {"graphql": {"tape": run.tape_of("graphql"), "sending": {"overload": True}}}
    apart = dataclasses.replace(apart, manifest={**run.manifest, "loads": loads})
    assert not failing_gates(experiment_gates(apart))
    assert LeftOut(name="block_spread_share", reason="in graphql, an overloaded system fluctuates by itself") in (
        experiment_gates_left_out(apart)
    )


def test_what_differs_within_blocks_as_much_as_between_them_is_chance(make_run):
    few = make_run(blocks=5, journeys_per_trial=60, seed=3, noise=CALM)
    times = np.random.default_rng(2).lognormal(0, 0.7, few.journeys.height)
    rough = dataclasses.replace(few, journeys=few.journeys.with_columns(latency_ns=pl.col("latency_ns") * times))
    ok = rough.journeys.filter(pl.col("outcome") == "ok")
    p50 = ok.group_by("topology", "block").agg(pl.col("latency_ns").median().log().alias("p50"))
    beside = p50.with_columns(pl.col("p50") - pl.col("p50").mean().over("block"))
    assert beside.group_by("topology").agg(pl.col("p50").std())["p50"].max() > SPREAD_LIMIT
    assert failing_gates(experiment_gates(rough)) == []
    # An arm at four times the rate has a tape of four times the length.
    longer = pl.when(pl.col("topology") == "grpc").then(pl.col("seq") * 4).otherwise("seq")
    at_rates = dataclasses.replace(rough, journeys=rough.journeys.with_columns(seq=longer))
    assert failing_gates(experiment_gates(at_rates)) == []


def test_arms_at_one_distance_are_compared(make_run):
    arms = arms_at_distances(("rest", "graphql", "grpc", "hybrid"), (0.0, 100.0))
    options = {"blocks": 3, "journeys_per_trial": 300, "seed": 5, "noise": CALM}
    run = make_run(kind="rtt", arms=arms, **options)
    near = pl.col("topology").str.ends_with("-0ms") & (pl.col("block") == 2)
    assert failing_gates(experiment_gates(slow_down(run, near))) == []


def test_slowing_a_whole_block_is_no_spread(run):
    assert failing_gates(experiment_gates(slow_down(run, pl.col("block") == 2))) == []


def test_blocks_of_one_topology_are_compared(make_run):
    alone = make_run(topologies=("rest",), blocks=3, journeys_per_trial=300, seed=5)
    assert failing_gates(experiment_gates(alone)) == []
    apart = slow_down(alone, pl.col("block") == 2)
    assert failing_gates(experiment_gates(apart)) == ["block_spread_share", "block_worst_share"]


def test_one_bad_block_of_twelve_trips_a_separate_gate(make_run):
    twelve = make_run(topologies=["rest", "grpc"], blocks=12, journeys_per_trial=300, seed=5)
    assert failing_gates(experiment_gates(twelve)) == []
    bad = (pl.col("block") == 3) & (pl.col("topology") == "grpc")
    spoilt = slow_down(twelve, bad, 1.4)
    assert failing_gates(experiment_gates(spoilt)) == ["block_worst_share"]


def test_one_block_has_no_spread_and_says_so(make_run):
    one = make_run(blocks=1, journeys_per_trial=100, seed=5)
    names = {"block_spread_share", "block_worst_share"}
    assert names.isdisjoint(gate["name"] for gate in experiment_gates(one))
    assert names <= {row["name"] for row in experiment_gates_left_out(one)}


def test_a_bench_has_the_gates_of_its_trial(make_run):
    bench = make_run(topologies=("hybrid",), blocks=1, journeys_per_trial=100, seed=5)
    assert experiment_gates(bench) == bench.trials[0]["gates"]
    assert experiment_gates_left_out(bench) == bench.trials[0]["gates_left_out"]


def test_a_gate_that_some_topologies_leave_out_names_them_and_their_reasons(run):
    untraced = [{"name": "spans_lost", "reason": "no journey was traced"}]
    without_edge = [{"name": "spans_lost", "reason": "nobody looked"}]
    left_out = {"rest": untraced, "graphql": without_edge, "grpc": untraced}
    trials = [{**row, "gates_left_out": left_out.get(row["topology"], [])} for row in run.trials]
    assert sorted(row["reason"] for row in experiment_gates_left_out(dataclasses.replace(run, trials=trials))) == [
        "in graphql, nobody looked",
        "in rest and grpc, no journey was traced",
    ]
    everywhere = [{**row, "gates_left_out": untraced} for row in run.trials]
    assert experiment_gates_left_out(dataclasses.replace(run, trials=everywhere)) == untraced
