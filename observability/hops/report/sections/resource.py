"""CPU, memory, and the cost of a million journeys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from hops.analysis.cost import EDGE_CACHE_GROUP, GENERATOR_GROUP, GROUPS, ORIGIN, TOTAL, component_group
from hops.budget.groups import CACHE_GROUP, UNATTRIBUTED_GROUP
from hops.elements import numbers
from hops.elements.compared import TARGET
from hops.elements.element import Chart, Element, Figures, Fold, Heading, Section, Text
from hops.elements.table import Column, Table, number, words
from hops.report.chart import INK, Spec, draw
from hops.report.encodings import amount, label, layer, stack, topology_axis
from hops.report.facts import of_each
from hops.report.palette import Look, group_class, group_fill
from hops.report.view import View
from hops.run.switches import replicas_text
from hops.tables.cost import cost_table
from hops.units import NS_PER_S

_BINS = 40
_LIKE = {
    EDGE_CACHE_GROUP: CACHE_GROUP,
    ORIGIN: UNATTRIBUTED_GROUP,
    TARGET.one: "services",
    "other": UNATTRIBUTED_GROUP,
    TOTAL: UNATTRIBUTED_GROUP,
}
"""For groups of components that are no group of parts, a group of parts that looks the same."""


def section(view: View) -> Section:
    """Makes the section on resources and cost."""
    present = {component_group(name) for name in view.run.resources["component"].unique()}
    key = [(f"fill {group_class(_LIKE.get(group, group))}", group) for group in GROUPS if group in present]
    of_cost = [(mark, group) for mark, group in key if group != GENERATOR_GROUP]
    replicas = of_each(view, replicas_text)
    topologies = view.summary["topologies"]
    cpu_ms = {name: one["cpu_ms_per_journey"] for name, one in topologies.items()}
    memory_mb = {name: one["rss_mb"] for name, one in topologies.items()}
    elements: list[Element] = [
        Text(
            f"Cost counts the CPU time of everything except the load generator, which is not part of a "
            f"{view.compared.system}."
            + (
                f" Database and telemetry are listed separately, because every {view.compared.one} has them."
                if view.traced
                else ""
            )
            + (f" A component's figures are those of all its replicas together ({replicas})." if replicas else "")
        ),
        Heading("Core-hours for a million journeys"),
        Figures([cost_chart(view)], of_cost),
        cost_table(view),
        Heading("CPU and memory over time"),
        Figures(
            [_area(view, look, "cores", "cores") for look in view.looks],
            key,
            "Cores in use, mean over the blocks, second by second since the start of the load.",
        ),
        Figures(
            [_area(view, look, "memory_mb", "MiB") for look in view.looks], key, "Memory in MiB, mean over the blocks."
        ),
        Fold(
            "CPU and memory by component",
            [
                _by_component("cpu", view.mark_caption("CPU time of a journey by component, ms"), "ms", cpu_ms),
                _by_component("memory", view.mark_caption("Peak memory by component, MiB"), "MiB", memory_mb),
            ],
        ),
        *_origin(view),
    ]
    return Section("resources", "Resources and cost", elements)


def _origin(view: View) -> list[Element]:
    if "resources_from" not in view.summary:
        return []
    origin = view.summary["resources_from"]
    return [
        Text(
            f"In a cluster, CPU time and memory are what it reports for each container (source: {origin['source']}). A "
            f"figure of CPU time is a mean over up to {numbers.seconds(origin['resolution_s'])}."
        )
    ]


def fills() -> list[str]:
    """Lists the fill of each group of components: the fill of the corresponding group of budget parts."""
    return [group_fill(_LIKE.get(group, group)) for group in GROUPS]


def cost_chart(view: View) -> Chart:
    """Draws stacked core-hours, with a row per topology."""
    rows: list[dict[str, Any]] = []
    totals: list[dict[str, Any]] = []
    for look in view.looks:
        cost = view.summary["topologies"][look.name]["cost"]
        rows += [
            {"topology": look.name, "group": group, "hours": one["value"], "order": GROUPS.index(group)}
            for group, one in cost.items()
            if group in GROUPS and group not in (ORIGIN, TOTAL, GENERATOR_GROUP)
        ]
        if TOTAL not in cost:
            continue  # a target whose processes cannot be measured
        whole = cost[TOTAL]
        low, high = whole["ci95"]
        text = numbers.plain(whole["value"])
        totals.append({"topology": look.name, "low": low, "high": high, "end": high or whole["value"], "text": text})
    top = max((row["end"] for row in totals), default=1.0) or 1.0
    x = amount("hours", "core-hours", scale={"domain": [0, top * 1.15], "nice": False}, stacked=True, tickCount=5)
    known = [row for row in totals if row["low"] is not None and row["high"] is not None]
    spec: Spec = {
        "height": {"step": 30},
        "encoding": {"y": topology_axis(view)},
        "layer": [
            stack("bar", x, GROUPS, fills()),
            layer("rule", {"x": amount("low"), "x2": {"field": "high"}}, data=known, color=INK, strokeWidth=1.6),
            label({"x": amount("end")}, dx=5, data=totals),
        ],
    }
    described = "; ".join(f"{row['topology']} {row['text']}" for row in totals)
    return draw("Cost", f"Core-hours for a million journeys: {described}.", spec, rows)


def _by_component(key: str, caption: str, unit: str, used: Mapping[str, Mapping[str, float]]) -> Table:
    components = {component for one in used.values() for component in one}
    columns = [Column(name, numeric=False) for name in ("component", "group")]
    columns += [Column(name, unit) for name in used]
    rows = [
        [words(component), words(component_group(component)), *(number(one.get(component)) for one in used.values())]
        for component in sorted(components, key=lambda name: (GROUPS.index(component_group(name)), name))
    ]
    return Table(key, caption, columns, rows)


def _area(view: View, look: Look, what: str, unit: str) -> Chart:
    """Draws cores in use, or memory, over time, stacked by group."""
    rows = _over_time(view, look.name, what)
    x = amount("s", "seconds since the start", scale={"nice": False}, grid=False)
    y = amount("value", unit, stacked=True, tickCount=4)
    spec: Spec = {"height": 110, **stack("area", x, GROUPS, fills(), stroke=0.8, y=y)}
    return draw(look.name, f"{unit} used by {look.name} over time, by group of components.", spec, rows)


def _over_time(view: View, topology: str, what: str) -> list[dict[str, Any]]:
    frame = view.run.resources.filter(pl.col("topology") == topology).sort("block", "component", "at_ns")
    if frame.is_empty():
        return []
    by_group: dict[str, Any] = {}
    begins = {block: int(str(one["at_ns"].min())) for (block,), one in frame.group_by("block")}
    long_s = min((int(str(one["at_ns"].max())) - begins[block]) / NS_PER_S for (block,), one in frame.group_by("block"))
    grid = np.linspace(0, long_s, min(_BINS, max(2, int(long_s))) + 1)
    for (block, component), one in frame.group_by("block", "component", maintain_order=True):
        at = (one["at_ns"].to_numpy() - begins[block]) / NS_PER_S
        if what == "cores":
            used = np.interp(grid, at, one["cpu_s"].to_numpy())
            values = np.diff(used) / np.maximum(np.diff(grid), 1e-9)
        else:
            values = np.interp((grid[:-1] + grid[1:]) / 2, at, one[what].to_numpy())
        group = component_group(str(component))
        by_group[group] = by_group.get(group, 0.0) + values / len(begins)
    middles = (grid[:-1] + grid[1:]) / 2
    return [
        {"group": group, "order": GROUPS.index(group), "s": round(float(s), 1), "value": float(f"{value:.3g}")}
        for group, values in by_group.items()
        for s, value in zip(middles, values, strict=True)
    ]
