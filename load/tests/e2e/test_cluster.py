from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest
from stand_ins.cluster import namespaces, needs_cluster

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["load_nodes=0"], "load_nodes=0: must be an integer from 1"),
        (["load_nodes=2", "runtime=native"], "load_nodes=2 needs runtime=kubernetes"),
        (["runtime=swarm"], "runtime=swarm is unknown; valid: native, kubernetes"),
        (["runtime=kubernetes", "mesh=envoy"], "mesh=envoy with runtime=kubernetes"),
        (["runtime=kubernetes", "KUBECTL_BIN=nowhere"], "KUBECTL_BIN=nowhere is not a program"),
    ],
)
def test_bad_input_is_refused_before_anything_starts(refused, arguments: list[str], message: str) -> None:
    refused(["topology=hybrid", "profile=smoke", *arguments, "bench"], message)


@needs_cluster
@pytest.mark.parametrize(("mesh", "mtls"), [("none", "off"), ("istio", "on")])
def test_gates_that_depend_only_on_the_code_hold(terminal: Any, mesh: str, mtls: str) -> None:
    summary, _ = terminal.bench("topology=hybrid", "runtime=kubernetes", f"mesh={mesh}", f"mtls={mtls}")
    assert summary["switches"]["runtime"] == "kubernetes"
    assert terminal.failed_code_gates(summary) == []
    assert terminal.left_over() == []
    assert terminal.namespace() is None


@needs_cluster
def test_three_load_nodes_send_the_tape_of_one_generator_and_get_its_answers(terminal: Any) -> None:
    native, _ = terminal.bench("topology=hybrid")
    shared, _ = terminal.bench("topology=hybrid", "runtime=kubernetes", "load_nodes=3")
    assert shared["tape"] == native["tape"]


@needs_cluster
@pytest.mark.parametrize("moment", range(5))
def test_ctrl_c_leaves_no_namespace(terminal: Any, moment: int) -> None:
    running = terminal.start("topology=hybrid", "profile=smoke", "runtime=kubernetes", "bench")
    time.sleep(random.Random(moment).uniform(3, 75))
    made = terminal.namespace()
    terminal.interrupt(running, limit_s=180)
    assert made not in namespaces()
    assert terminal.namespace() is None
    assert terminal.left_over() == []


@needs_cluster
def test_a_pod_is_evicted_and_the_node_drained_while_customers_buy(terminal: Any) -> None:
    run = [".venv/bin/python", "-m", "experiment", "chaos", "--topologies", "hybrid", "--json"]
    done = terminal.run(*run, "--runtime", "kubernetes", "--rate", "5", "--faults", "evict:order,drain")
    document = json.loads(done.stdout)
    struck = {one["fault"]: one for one in document["chaos"]}
    assert struck.keys() == {"evict:order", "drain:shop"}
    assert [(one["broken"], one["unanswered"], one["unsettled"], one["over"]) for one in struck.values()] == [
        ([], 0, 0, True)
    ] * 2
    # A request that arrives just when the only pod ends may fail.
    assert sum(struck["evict:order"]["failed"].values()) <= 0.01 * struck["evict:order"]["journeys"]
    assert all(one["checkouts"] > 100 for one in struck.values())
    assert terminal.namespace() is None
