"""What each step of a ladder adds, measured twice, in experiments whose true values are known."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from hops.kinds import analyse
from hops.kinds.ladder.analysis import belongs_to, ladder_steps
from hops.kinds.ladder.arms import ADDS, ARMS, KIND, UPWARDS, steps_of
from hops.units import NS_PER_MS
from synthetic.of_ladder import synthetic_arms

ADDED_MS = 0.8
KINDS = {"browse": 10.0, "checkout": 25.0}
EXPERIMENTS = 50


def experiment(rng, *, hidden_ms: float = 0.0, blocks: int = 5, count: int = 300, traced: float = 0.3):
    """Makes an arm with an edge and an arm without; some of the time that the edge adds is in no part of the edge."""
    journeys, hops = {}, {}
    names = rng.choice(list(KINDS), count, p=[0.7, 0.3])
    asked_ms = np.array([KINDS[name] for name in names]) * rng.lognormal(0, 0.3, count)
    shifts = rng.lognormal(0, 0.05, blocks)
    for arm, edge_ms, extra_ms in (("no-edge", 0.0, 0.0), ("edge", ADDED_MS, hidden_ms)):
        rows, parts = [], []
        for block, shift in enumerate(shifts, 1):
            factor = shift * rng.lognormal(0, 0.02)
            work_ns = ((asked_ms * factor * rng.gamma(40, 1 / 40, count) + extra_ms) * NS_PER_MS).astype(np.int64)
            edge_ns = (edge_ms * rng.gamma(4, 0.25, count) * NS_PER_MS).astype(np.int64)
            of_block = pl.DataFrame(
                {
                    "block": np.full(count, block), "seq": np.arange(count), "journey": names,
                    "outcome": ["ok"] * count, "sampled": rng.random(count) < traced, "latency_ns": work_ns + edge_ns,
                    "work:order": work_ns, "proxy:edge": edge_ns,
                    "trace_id": [f"{arm}/{block}/{seq}" for seq in range(count)],
                }
            )  # fmt: skip
            rows.append(of_block)
            wide = of_block.filter("sampled").select("block", "journey", "trace_id", "work:order", "proxy:edge")
            parts.append(wide.unpivot(index=["block", "journey", "trace_id"], variable_name="part", value_name="ns"))
        journeys[arm], hops[arm] = pl.concat(rows), pl.concat(parts)
    load = dict(zip(*np.unique(names, return_counts=True), strict=True))
    every = set(range(1, blocks + 1))
    (step,) = ladder_steps(journeys, hops, load, {"no-edge": every, "edge": every})
    return {row["journey"]: row for row in step["rows"]}


def inside(estimate, truth: float) -> bool:
    low, high = estimate["ci95"]
    return low <= truth <= high


def test_intervals_hold_the_truth_and_the_measurements_agree():
    rng = np.random.default_rng(3)
    rows = [experiment(rng)["all"] for _ in range(EXPERIMENTS)]
    for name, truth in (("measured", ADDED_MS), ("attributed", ADDED_MS), ("remainder", 0.0), ("elsewhere", 0.0)):
        assert 0.9 < np.mean([inside(row[name], truth) for row in rows]) < 0.995, name
        assert np.mean([row[name]["value"] for row in rows]) == pytest.approx(truth, abs=0.05)
    assert {row["verdict"] for row in rows} == {"agree", "differ"}
    assert np.mean([row["verdict"] == "agree" for row in rows]) > 0.92


def test_time_that_no_part_of_the_step_has_is_a_disagreement_and_shows_elsewhere():
    rng = np.random.default_rng(4)
    rows = [experiment(rng, hidden_ms=2.0)["all"] for _ in range(30)]
    assert np.mean([inside(row["remainder"], 2.0) for row in rows]) > 0.88
    assert np.mean([row["verdict"] == "differ" for row in rows]) > 0.95
    assert np.mean([row["elsewhere"]["value"] for row in rows]) == pytest.approx(2.0, abs=0.1)
    (services,) = rows[0]["groups"]
    assert services["group"] == "services"
    assert services["value"] == pytest.approx(rows[0]["elsewhere"]["value"])


def test_remainder_is_measured_minus_attributed_in_every_journey():
    for row in experiment(np.random.default_rng(5)).values():
        assert row["remainder"]["value"] == pytest.approx(row["measured"]["value"] - row["attributed"]["value"])


@pytest.mark.parametrize(("more", "reason"), [({"blocks": 2}, "3 blocks"), ({"count": 12}, "needs 5 journeys")])
def test_too_few_data_give_figures_and_no_verdict(more, reason):
    for row in experiment(np.random.default_rng(6), **more).values():
        assert row["verdict"] == "unknown"
        assert row["measured"]["ci95"] == row["remainder"]["ci95"] == [None, None]
        assert reason in row["reason"]


def test_without_traces_nothing_can_be_attributed():
    assert experiment(np.random.default_rng(7), traced=0.0) == {}


@pytest.mark.parametrize(
    ("thing", "belong", "do_not"),
    [
        ("edge", ["proxy:edge", "wire:client→edge", "wire:edge→rest-gateway", "wire:client→rest-gateway"],
         ["wire:order→product", "work:order", "proxy:order-outbound", "client", "db:order"]),
        ("sidecars", ["proxy:order-outbound", "wire:order→order-outbound", "wire:client→edge"],
         ["proxy:edge", "work:order", "db:order", "start_lag"]),
        ("memory", ["db:order", "pool:order"], ["work:order", "wire:order→product"]),
        ("cluster", ["wire:client→edge", "wire:order→product"], ["proxy:edge", "work:order", "db:order", "client"]),
        ("cluster-istio", ["proxy:order-outbound", "wire:order→order-outbound"], ["proxy:edge", "db:order"]),
    ],
)  # fmt: skip
def test_parts_that_belong_to_a_step(thing, belong, do_not):
    lower = {"edge": "no-edge", "cluster-istio": "cluster"}.get(thing, "edge")
    (step,) = steps_of([lower, thing])
    assert [part for part in belong + do_not if belongs_to(step)(part)] == belong


def test_each_step_adds_one_thing_and_an_arm_left_out_makes_one_step_of_two():
    assert [(step.lower, step.upper, step.adds) for step in steps_of(ARMS)] == [
        ("no-edge", "edge", "edge"),
        ("edge", "sidecars", "sidecars"),
        ("sidecars", "mtls", "mTLS"),
        ("mtls", "istio", "Istio"),
        ("untraced", "edge", "tracing"),
        ("untraced", "sdk", "tracing and stock SDK"),
        ("edge", "sdk", "stock SDK"),
        ("memory", "edge", "database"),
        ("edge", "metrics", "metrics"),
        ("edge", "updates", "updates"),
        ("edge", "cluster", "cluster"),
        ("cluster", "cluster-istio", "Istio in the cluster"),
    ]
    assert set(ADDS) == set(ARMS) - {UPWARDS[0]}
    (step,) = steps_of(["mtls", "edge"])
    assert (step.lower, step.upper, step.adds) == ("edge", "mtls", "sidecars and mTLS")


@pytest.fixture(scope="module")
def summary(make_run):
    slowed = {"sidecars": {"work:product": 4.0}}
    run = make_run(kind=KIND, arms=synthetic_arms(), blocks=3, journeys_per_trial=400, delays_ms=slowed)
    return analyse(run, name="ladder")


def test_a_ladder_has_every_step_in_all_journeys_and_each(summary):
    steps = summary["ladder"]["steps"]
    assert [step["adds"] for step in steps] == [step.adds for step in steps_of(ARMS)]
    for step in steps:
        every, *journeys = [row["journey"] for row in step["rows"]]
        assert every == "all"
        assert len(journeys) == 8


def test_what_slows_a_service_is_no_part_of_the_sidecars_step(summary):
    rows = {step["adds"]: step["rows"][0] for step in summary["ladder"]["steps"]}
    assert rows["sidecars"]["verdict"] == "differ"
    assert max(rows["sidecars"]["groups"], key=lambda group: group["value"])["group"] == "services"
    assert rows["sidecars"]["remainder"]["ci95"][0] > 1
    assert all(abs(rows[one]["remainder"]["value"]) < 1 for one in ("edge", "Istio", "tracing", "database", "cluster"))


def test_tracing_is_compared_with_the_observer_effect(summary):
    (row,) = [step["rows"][0] for step in summary["ladder"]["steps"] if step["adds"] == "tracing"]
    assert row["journeys"] == [1200, 1200]
    assert sum(row["traces"]) == 1200
    assert row["groups"] == []
    assert row["elsewhere"]["value"] == 0


@pytest.mark.parametrize("measurement", ["measured", "attributed"])
def test_lean_tracing_and_what_the_sdk_adds_to_it_make_stock_tracing(summary, measurement):
    lean, stock, more = (
        step["rows"][0][measurement]["value"]
        for step in summary["ladder"]["steps"]
        if step["adds"] in ("tracing", "tracing and stock SDK", "stock SDK")
    )
    assert lean != 0
    assert stock == pytest.approx(lean + more)
