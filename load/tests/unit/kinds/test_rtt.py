from __future__ import annotations

from pathlib import Path

import pytest

from experiment.errors import UsageError
from experiment.kinds.rtt import DEFAULT_RTTS, rtt_arms
from experiment.plan.arms_in_blocks import Plan
from experiment.plan.profiles import PROFILES
from hops.kinds.rtt.document import KIND
from mesh.description.topology import load_topology

REST, HYBRID = load_topology("rest"), load_topology("hybrid")
FOUR = [load_topology(name) for name in ("rest", "graphql", "grpc", "hybrid")]
WORKLOAD = Path(__file__).resolve().parents[3] / "workloads" / "default.yaml"


def test_each_topology_runs_at_each_round_trip_time_the_nearest_first() -> None:
    arms = rtt_arms([REST, HYBRID], "20ms, 0,0.5", {})
    assert [arm.label for arm in arms] == [
        "rest-0ms", "hybrid-0ms", "rest-0.5ms", "hybrid-0.5ms", "rest-20ms", "hybrid-20ms",
    ]  # fmt: skip
    assert [arm.topology for arm in arms] == [REST, HYBRID] * 3
    assert [arm.switches.rtt_ms for arm in arms[::2]] == [0.0, 0.5, 20.0]


def test_arms_of_a_topology_differ_only_by_distance_and_all_have_links_and_tls() -> None:
    arms = [arm.switches for arm in rtt_arms(FOUR, DEFAULT_RTTS, {"bandwidth": "10mbit/2mbit", "trace": "0.5"})]
    assert len(arms) == 16
    assert {key for arm in arms for key, value in arm.as_dict().items() if value != arms[0].as_dict()[key]} == {
        "rtt_ms"
    }
    assert all(arm.emulates_network and arm.tls == "on" and arm.trace == 0.5 for arm in arms)


def test_with_http_3_grpc_stays_on_http_2_at_every_distance() -> None:
    arms = rtt_arms(FOUR, "0,20", {"http": "3"})
    assert {(arm.topology.name, arm.switches.http, arm.switches.tls) for arm in arms} == {
        ("rest", 3, "on"),
        ("graphql", 3, "on"),
        ("grpc", 2, "on"),
        ("hybrid", 3, "on"),
    }
    plan = Plan(KIND, "rtt", arms, 1, PROFILES["smoke"], 1, WORKLOAD)
    assert plan.staying_on_http2 == ["grpc"]


@pytest.mark.parametrize(
    ("rtts", "message"),
    [
        ("-1,20", "rtts=-1,20: -1 is not a round-trip time from 0ms to 2s"),
        ("0,2h", "rtts=0,2h: 2h is not a round-trip time from 0ms to 2s"),
        ("0,3s", "3s is not a round-trip time"),
        ("near,far", "near is not a round-trip time from 0ms to 2s; separate times by commas, such as 0,20,50,100"),
        ("0,", "an empty item is not a round-trip time"),
        ("20,0,20ms", "20 is given twice"),
        ("20", "rtts=20 is a single round-trip time; give at least two, such as 0,20,50,100"),
        ("0,1,2,3,4,5,6,7", "4 topologies at 8 round-trip times make 32 arms, and an experiment has at most 30"),
    ],
)
def test_invalid_round_trip_times_are_refused(rtts: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        rtt_arms(FOUR, rtts, {})


def test_an_arm_that_cannot_run_is_named() -> None:
    with pytest.raises(UsageError, match="arm rest-0ms: bandwidth=fast is not"):
        rtt_arms([REST], "0,20", {"bandwidth": "fast"})
