"""A plan and its seed determine the trials of an experiment."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import Plan, arms_of, plan_of
from experiment.plan.closed_loop import ClosedLoop
from experiment.plan.own_load import OwnLoad, Sending
from experiment.plan.profiles import PROFILES
from mesh.description.switches import Switches, parse_switches
from mesh.description.topology import load_topology
from mesh.errors import SwitchError

NAMES = ("rest", "graphql", "grpc", "hybrid")


def plan(*names: str, blocks: int = 5, seed: int = 1) -> Plan:
    arms = arms_of([load_topology(name) for name in names or NAMES], Switches())
    return Plan("compare", "compare", arms, blocks, PROFILES["smoke"], seed, Path("default.yaml"))


def test_every_block_has_every_arm_once() -> None:
    trials = plan().trials()
    assert Counter((trial.block, trial.arm.label) for trial in trials) == Counter(
        (block, name) for block in range(1, 6) for name in NAMES
    )
    assert [trial.position for trial in trials] == [1, 2, 3, 4] * 5


def test_the_seed_determines_the_order_which_differs_between_blocks() -> None:
    names = [trial.name for trial in plan(blocks=20).trials()]
    assert names == [trial.name for trial in plan(blocks=20).trials()]
    assert names != [trial.name for trial in plan(blocks=20, seed=2).trials()]
    orders = {tuple(name.split("-")[1] for name in names[start : start + 4]) for start in range(0, 80, 4)}
    assert len(orders) > 5


def test_arms_that_are_compared_under_the_same_load_follow_each_other() -> None:
    loads = [OwnLoad(name, (), Sending(1, 1, 10.0)) for name in ("small", "large", "many")]
    arms = tuple(replace(arm, label=f"{arm.label}-{load.name}", load=load) for load in loads for arm in plan().arms)
    planned = replace(plan(blocks=20), arms=arms)
    orders = [[trial.arm for trial in planned.trials()[start : start + 12]] for start in range(0, 240, 12)]
    for order in orders:
        assert sorted(arm.label for arm in order) == sorted(arm.label for arm in arms)
        for start in (0, 4, 8):
            assert len({arm.tape for arm in order[start : start + 4]}) == 1
    assert len({tuple(arm.tape for arm in order[::4]) for order in orders}) == 6
    assert len({tuple(arm.topology.name for arm in order[:4]) for order in orders}) > 5


def test_more_blocks_do_not_change_the_first_blocks() -> None:
    assert plan(blocks=9).trials()[:20] == plan(blocks=5).trials()


def test_a_plan_round_trips_through_a_file() -> None:
    for one in (plan(), replace(plan("rest"), kind="bench", blocks=1, closed=ClosedLoop(5, 0.1))):
        assert plan_of(one.as_document()) == one


def test_a_plan_of_another_version_is_refused() -> None:
    with pytest.raises(UsageError, match="schema 1"):
        plan_of({**plan().as_document(), "schema": 1})


def test_a_plan_whose_names_lead_elsewhere_is_refused() -> None:
    document = plan("rest").as_document()
    elsewhere = [{**document["arms"][0], "label": "../../rest"}]
    for changed in ({"name": "../rest"}, {"arms": elsewhere}):
        with pytest.raises(UsageError, match="is not a valid name for a results folder: begin with a letter"):
            plan_of({**document, **changed})


def test_with_http_3_grpc_stays_on_http_2_with_tls() -> None:
    arms = arms_of([load_topology(name) for name in NAMES], parse_switches(http="3"))
    assert {arm.label: (arm.switches.http, arm.switches.tls) for arm in arms} == {
        "rest": (3, "on"),
        "graphql": (3, "on"),
        "grpc": (2, "on"),
        "hybrid": (3, "on"),
    }
    assert replace(plan(), arms=arms).staying_on_http2 == ["grpc"]
    assert plan().staying_on_http2 == []


def test_http_3_for_only_grpc_is_refused() -> None:
    with pytest.raises(SwitchError, match="http=3: the clients of grpc speak only gRPC"):
        replace(plan(), arms=arms_of([load_topology("grpc")], parse_switches(http="3")))


def test_one_topology_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="rest is given twice"):
        plan("rest", "grpc", "rest")


@pytest.mark.parametrize("blocks", [0, 101])
def test_blocks_out_of_range_are_refused(blocks: int) -> None:
    with pytest.raises(UsageError, match="from 1 to 100"):
        plan(blocks=blocks)
