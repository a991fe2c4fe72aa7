"""What a topology costs to run: CPU time by component, core-hours per million journeys, and busy processors."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from hops.budget.groups import GATEWAY_SUFFIX
from hops.budget.parts import EDGE, EDGE_CACHE, GENERATOR
from hops.elements.compared import TARGET
from hops.run.documents.estimate import Estimate
from hops.run.documents.summary import InUse
from hops.run.files import RunFiles
from hops.statistics.over_blocks import rate_section
from hops.units import CANARY, NS_PER_S, SERVICES

DATABASE = "postgres"
CACHE = "valkey"
TELEMETRY = "jaeger"
CONTROL_PLANE = "istiod"
SIDECAR_SUFFIX = "-sidecar"
"""Suffix of a sidecar's process, after its component's name. A sidecar's spans say in which direction it forwarded."""
TOTAL = "total"
ORIGIN = "origin"
EDGE_CACHE_GROUP = "edge cache"
GENERATOR_GROUP = "generator"
"""The load generator: measured like all other components, but not part of a shop."""

GROUPS = (
    "services",
    "gateways",
    EDGE_CACHE_GROUP,
    "edge",
    "sidecars",
    "control plane",
    "database",
    "cache",
    "telemetry",
    TARGET.one,
    "other",
    ORIGIN,
    TOTAL,
    GENERATOR_GROUP,
)
"""Groups of components. `total` is all except the generator; `origin` also leaves out a shared cache and telemetry."""

WATCHERS = "watchers"
"""Component name of the generator's customers who wait for updates."""
_GROUP_OF = {
    EDGE: "edge",
    EDGE_CACHE: EDGE_CACHE_GROUP,
    f"{EDGE_CACHE}-link": GENERATOR_GROUP,
    f"{EDGE_CACHE}-spans": "telemetry",
    CONTROL_PLANE: "control plane",
    DATABASE: "database",
    CACHE: "cache",
    TELEMETRY: "telemetry",
    TARGET.one: TARGET.one,
    GENERATOR: GENERATOR_GROUP,
    WATCHERS: GENERATOR_GROUP,
}

CORE_HOURS_A_MILLION = 1e6 / 3600
"""Core-hours of a million journeys that take one CPU second each."""

Used = Mapping[int, tuple[float, int]]
"""CPU seconds and journeys, by block."""


def component_group(component: str) -> str:
    """Returns the group of a component; a component of an unknown kind is `other` and counts in the total."""
    if component in SERVICES or component == CANARY:
        return "services"
    if component.endswith(GATEWAY_SUFFIX):
        return "gateways"
    if component.endswith(SIDECAR_SUFFIX):
        return "sidecars"
    return _GROUP_OF.get(component, "other")


def used_by_group(run: RunFiles, topology: str) -> dict[str, dict[int, tuple[float, int]]]:
    """Adds up CPU seconds and journeys of each block, by group; there is a `total` if more than the generator ran."""
    counts = {
        int(block): int(count)
        for name, block, count in run.journeys.group_by("topology", "block").len().iter_rows()
        if name == topology
    }
    cached = any(EDGE_CACHE in trial["cpu_s"] for trial in run.used)
    used: dict[str, dict[int, tuple[float, int]]] = {}
    for trial in run.used:
        if trial["topology"] != topology:
            continue
        sums: dict[str, float] = {}
        for component, cpu_s in trial["cpu_s"].items():
            group = component_group(component)
            sums[group] = sums.get(group, 0.0) + cpu_s
            if group != GENERATOR_GROUP:
                sums[TOTAL] = sums.get(TOTAL, 0.0) + cpu_s
        if cached:
            sums[ORIGIN] = sums.get(TOTAL, 0.0) - sums.get(EDGE_CACHE_GROUP, 0.0) - sums.get(_GROUP_OF[TELEMETRY], 0.0)
        for group, cpu_s in sums.items():
            used.setdefault(group, {})[trial["block"]] = (cpu_s, counts.get(trial["block"], 0))
    return {group: used[group] for group in GROUPS if group in used}


def cost(used: Mapping[str, Used], first: int | None = None) -> dict[str, Estimate]:
    """Computes core-hours per million journeys, by group, with intervals over blocks."""
    estimates: dict[str, Estimate] = {}
    for group, blocks in used.items():
        section = rate_section(blocks.values(), CORE_HOURS_A_MILLION, first)
        if section.value is not None:
            estimates[group] = Estimate(value=section.value, ci95=list(section.interval))
    return estimates


def in_use_of(run: RunFiles) -> dict[str, InUse]:
    """Computes how busy each topology kept the processors, over the load of all its trials.

    Topologies whose components' CPU time was not measured are left out.
    """
    cores = run.manifest["cluster" if "cluster" in run.manifest else "machine"].get("cores")
    load = run.journeys.group_by("topology", "block").agg(
        ((pl.col("ended_ns").max() - pl.col("intended_ns").min()) / NS_PER_S).alias("s")
    )
    seconds = dict(load.group_by("topology").agg(pl.col("s").sum()).iter_rows())
    by_topology = {}
    for topology in run.topologies:
        used: dict[str, float] = {}
        for trial in run.used:
            if trial["topology"] == topology:
                used |= {name: used.get(name, 0.0) + cpu_s for name, cpu_s in trial["cpu_s"].items()}
        shop = {
            name: cpu_s
            for name, cpu_s in used.items()
            if name != TELEMETRY and component_group(name) != GENERATOR_GROUP
        }
        if shop and seconds[topology]:
            busiest = max(shop, key=shop.__getitem__)
            by_topology[topology] = InUse(
                machine=sum(used.values()) / seconds[topology] / cores if cores else None,
                component=busiest,
                core=shop[busiest] / seconds[topology],
            )
    return by_topology
