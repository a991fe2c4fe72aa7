"""CPU by group of components, and core-hours for a million journeys."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hops.analysis.cost import GROUPS, ORIGIN, TOTAL, component_group, cost, used_by_group

COMPONENTS = {
    "services": ["order", "product-canary"],
    "gateways": ["graphql-gateway", "rest-gateway"],
    "edge": ["edge"],
    "sidecars": ["order-sidecar", "edge-sidecar"],
    "database": ["postgres"],
    "cache": ["valkey"],
    "telemetry": ["jaeger", "edge-cache-spans"],
    "generator": ["client", "edge-cache-link"],
    "edge cache": ["edge-cache"],
    "control plane": ["istiod"],
    "target": ["target"],
    "other": ["toxiproxy"],
}


@pytest.mark.parametrize(("group", "component"), [(group, one) for group, names in COMPONENTS.items() for one in names])
def test_a_component_has_its_group(group, component):
    assert component_group(component) == group


def test_every_group_is_known():
    assert {*COMPONENTS, ORIGIN, TOTAL} == set(GROUPS)


def test_core_hours_of_a_million_journeys():
    found = cost({TOTAL: {1: (3.6, 1000), 2: (3.6, 1000), 3: (3.6, 1000)}})
    assert found[TOTAL]["value"] == pytest.approx(1.0)
    assert found[TOTAL]["ci95"] == pytest.approx([1.0, 1.0])
    assert cost({TOTAL: {1: (3.6, 1000)}})[TOTAL]["ci95"] == [None, None]
    assert cost({TOTAL: {1: (0.0, 0)}}) == {}


@pytest.fixture(scope="module")
def run(make_run):
    return make_run(topologies=["hybrid"], blocks=3, journeys_per_trial=100)


def test_the_total_is_all_but_the_generator(run):
    used = used_by_group(run, "hybrid")
    found = cost(used)
    assert set(found) == {"services", "gateways", "edge", "database", "telemetry", "total", "generator"}
    inside = sum(row["value"] for group, row in found.items() if group not in ("total", "generator"))
    assert found["total"]["value"] == pytest.approx(inside)
    measured = sum(cpu for trial in run.used for name, cpu in trial["cpu_s"].items() if name != "client")
    assert found["total"]["value"] == pytest.approx(measured / 300 * 1e6 / 3600)


def test_the_origin_is_what_a_shared_cache_spares(run):
    assert ORIGIN not in used_by_group(run, "hybrid")
    of_cache = {"edge-cache": 1.0, "edge-cache-spans": 0.5, "edge-cache-link": 0.25}
    trials = [{**trial, "cpu_s": trial["cpu_s"] | of_cache} for trial in run.trials]
    found = used_by_group(replace(run, trials=trials), "hybrid")
    for block, (origin_s, _) in found[ORIGIN].items():
        assert origin_s == pytest.approx(found[TOTAL][block][0] - 1.0 - found["telemetry"][block][0])
        assert found["edge cache"][block][0] == 1.0
