"""Probes of real systems: the components' resources under load, and while clients hold connections open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from experiment.plan.arms_in_blocks import Arm
from experiment.plan.probes import Holding, Looking, Probe
from hops.run.documents.summary import Summary
from hops.run.files import RunFiles
from mesh.description.switches import Switches
from mesh.description.topology import load_topology

from ...needs import needs_generator

pytestmark = needs_generator
COMPONENTS = {"product", "order", "user", "payment", "edge", "postgres", "jaeger"}


def run_probe(run_short: Callable[..., tuple[Summary, RunFiles]], kind: str, probe: Probe) -> tuple[Any, pl.DataFrame]:
    """Runs a trial with a probe; returns the part of the summary for the kind of experiment, and the samples."""
    switches = Switches(trace=0, connections=20)
    summary, run = run_short(kind, (Arm("grpc", load_topology("grpc"), switches, probe=probe),))
    looks = run.observed["looks"]
    assert set(looks["component"]) == COMPONENTS
    for name, least in {"memory_mb": 1, "descriptors": 3, "threads": 0, "database_mb": 1}.items():
        assert looks.filter(pl.col(name) <= least).is_empty(), name
    return summary[kind], looks  # type: ignore[literal-required]


def test_every_component_is_sampled_and_a_short_load_shows_no_growth(run_short: Callable[..., Any]) -> None:
    soak, looks = run_probe(run_short, "soak", Looking(0.5))
    assert looks["at_s"].n_unique() > 1  # fewer than in half a second each, on a busy machine
    assert looks.filter(component="order")["connections"].min() > 3
    assert not any(change["tells"] or change["grows"] for change in soak["changes"])


def test_numbers_of_connections_are_held_one_after_the_other(run_short: Callable[..., Any]) -> None:
    connections, looks = run_probe(run_short, "connections", Holding((0, 20)))
    assert {one["connections"] for one in connections["held"]} == {0, 20}
    at_edge = looks.filter(component="edge").group_by("held").agg(pl.col("connections").max()).sort("held")
    idle, held = at_edge["connections"].to_list()
    assert held >= idle + 10
