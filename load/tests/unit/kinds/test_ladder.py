from __future__ import annotations

import pytest

from experiment.errors import UsageError
from experiment.kinds.ladder import ladder_arms
from hops.kinds.ladder import arms as ladder
from mesh.description.switches import SWITCHES as ALL
from mesh.description.topology import load_topology

HYBRID, REST = load_topology("hybrid"), load_topology("rest")
BOTTOM = "no-edge,edge,untraced"


def test_every_arm_has_its_switches() -> None:
    assert set(ladder.SWITCHES) == {*ladder.ARMS} - {ladder.EDGE}


def test_arms_are_in_the_order_of_the_ladder_and_differ_in_one_thing() -> None:
    arms = ladder_arms(HYBRID, "untraced, edge,no-edge")
    assert [arm.label for arm in arms] == ["no-edge", "edge", "untraced"]
    no_edge, edge, untraced = (arm.switches.as_dict() for arm in arms)
    assert {key for key in edge if edge[key] != no_edge[key]} == {"edge"}
    assert {key for key in edge if edge[key] != untraced[key]} == {"trace"}
    assert {arm.topology for arm in arms if arm.topology is not HYBRID} == set()


@pytest.mark.parametrize("thing", ladder.ON_TOP)
def test_an_addition_to_the_shop_is_a_separate_step_with_any_switch_of_the_command(thing: str) -> None:
    given = {name: str(ALL[name].default) for name in ("trace", "payload", "http")}
    topology = load_topology("hybrid", updates="on")
    arms = ladder_arms(topology, f"{thing},edge", **given)
    assert [arm.topology.has_updates for arm in arms] == [False, thing == "updates"]
    edge, upper = (arm.switches.as_dict() for arm in arms)
    assert {key: upper[key] for key in edge if edge[key] != upper[key]} == {thing: "on"}
    (step,) = ladder.steps_of(["edge", thing])
    assert (step.lower, step.upper, step.adds) == ("edge", thing, thing)


def test_by_default_a_ladder_has_every_arm_that_the_topology_can_run() -> None:
    arms = {arm.label: arm.switches for arm in ladder_arms(HYBRID, "")}
    assert tuple(arms) == ladder.ON_THIS_MACHINE
    assert {label: (one.mesh, one.mtls) for label, one in arms.items() if one.mesh != "none"} == {
        "sidecars": ("envoy", "off"),
        "mtls": ("envoy", "on"),
        "istio": ("istio", "on"),
    }
    assert [label for label, one in arms.items() if one.store == "memory"] == ["memory"]
    for without in (ladder_arms(REST, ""), ladder_arms(HYBRID, "", http="2")):
        assert tuple(arm.label for arm in without) == ladder.ON_THIS_MACHINE[1:]
        assert {arm.switches.http for arm in without} == {2}


def test_the_arms_in_a_cluster_differ_from_this_machine_s_arms_in_nothing_else() -> None:
    arms = {arm.label: arm.switches.as_dict() for arm in ladder_arms(HYBRID, "edge,istio,cluster,cluster-istio")}
    for here, there in (("edge", "cluster"), ("istio", "cluster-istio")):
        assert {key for key in arms[here] if arms[here][key] != arms[there].get(key)} == {"runtime"}


def test_with_an_arm_without_an_edge_all_clients_speak_http_1() -> None:
    assert {arm.switches.http for arm in ladder_arms(HYBRID, BOTTOM)} == {1}
    assert {arm.switches.http for arm in ladder_arms(REST, "edge,untraced")} == {2}
    assert {arm.switches.http for arm in ladder_arms(REST, "edge,untraced", http="1")} == {1}


def test_the_share_of_traces_is_that_of_every_arm_that_traces() -> None:
    assert [arm.switches.trace for arm in ladder_arms(HYBRID, BOTTOM, trace="0.5")] == [0.5, 0.5, 0.0]


@pytest.mark.parametrize(
    ("steps", "more", "message"),
    [
        ("edge,dance", {}, "dance is unknown; valid: no-edge, edge, sidecars, mtls, istio, untraced, sdk, memory"),
        ("edge,", {}, "an empty item is unknown"),
        ("edge,no-edge,edge", {}, "edge is given twice"),
        ("edge", {}, "edge alone is not a step; add one of no-edge, sidecars"),
        ("untraced,memory", {}, "there is nothing to compare untraced and memory with; add edge"),
        ("no-edge,mtls,memory", {}, "there is nothing to compare memory with; add edge"),
        ("edge,cluster-istio", {}, "there is nothing to compare cluster-istio with; add cluster"),
        (BOTTOM, {"http": "2"}, "leave out http=2, or give steps= without no-edge"),
        (BOTTOM, {"trace": "1"}, "trace=1: a ladder needs journeys that are traced and journeys that are not"),
        (BOTTOM, {"trace": "0"}, "trace=0: a ladder needs"),
        (BOTTOM, {"http": "3"}, "http=3: without an edge, gateways speak HTTP/1.1 only"),
    ],
)
def test_invalid_ladders_are_refused(steps: str, more: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ladder_arms(HYBRID, steps, **more)


def test_an_arm_that_the_topology_cannot_run_is_named() -> None:
    with pytest.raises(UsageError, match="arm no-edge: edge=none: rest has clients that reach services"):
        ladder_arms(REST, "no-edge,edge")
