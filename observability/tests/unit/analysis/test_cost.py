"""CPU by group of components, and core-hours for a million journeys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from hops.analysis.cost import GROUPS, ORIGIN, TOTAL, component_group, cost, in_use_of, used_by_group
from hops.run.files import RunFiles

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


TWO_S = 2_000_000_000


def busy(machine: dict[str, object], *, cluster: dict[str, object] | None = None) -> RunFiles:
    """Makes two trials of two seconds each; the generator and Jaeger use more CPU than any part of the shop."""
    cpu_s = {"client": 1.5, "jaeger": 1.0, "order": 0.2, "graphql-gateway": 0.8, "postgres": 0.5}
    journeys = pl.DataFrame(
        {"topology": ["rest"] * 4, "block": [1, 1, 2, 2], "intended_ns": [0, 10, 500, 510]}
    ).with_columns(ended_ns=pl.Series([100, TWO_S, 600, TWO_S + 500]))
    manifest = {"topologies": {"rest": {}}, "machine": machine} | ({"cluster": cluster} if cluster else {})
    trials = [{"topology": "rest", "block": block, "used": True, "cpu_s": cpu_s} for block in (1, 2)]
    none = pl.DataFrame()
    return RunFiles(Path(), manifest, trials, journeys, none, none, none)  # type: ignore[arg-type]


def test_all_that_ran_counts_for_the_machine_and_the_shop_alone_for_the_busiest_component() -> None:
    assert in_use_of(busy({"cores": 4})) == {
        "rest": {"machine": pytest.approx(4.0 / 2 / 4), "component": "graphql-gateway", "core": pytest.approx(0.4)}
    }


def test_in_a_cluster_its_processors_count_and_may_be_unknown() -> None:
    assert in_use_of(busy({"cores": 4}, cluster={"cores": 8}))["rest"]["machine"] == pytest.approx(0.25)
    assert in_use_of(busy({"cores": 4}, cluster={"kubernetes": "1.34"}))["rest"]["machine"] is None
