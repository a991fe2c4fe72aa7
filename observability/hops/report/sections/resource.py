"""CPU, memory, and what a million journeys cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from hops.analysis.cost import GENERATOR_GROUP, GROUPS, TOTAL, component_group
from hops.elements import numbers
from hops.elements.element import Chart, Element, Figures, Heading, Section, Text
from hops.elements.table import Column, Table, number, words
from hops.report.chart import INK, Spec, draw
from hops.report.palette import Look
from hops.report.topologies import topology_axis
from hops.report.view import View
from hops.tables.cost import cost_table

_BINS = 40
_NS_PER_S = 1e9
#: A group of components is drawn like the group of budget parts that is the same thing.
_FILLS = {
    "services": 4,
    "gateways": 2,
    "edge": 1,
    "sidecars": 6,
    "database": 5,
    "telemetry": 3,
    "other": 8,
    GENERATOR_GROUP: 7,
}


def section(view: View) -> Section:
    """Makes the section."""
    fills = [(f"fill g{fill_of(group)}", group) for group in groups_of(view)]
    elements: list[Element] = [
        Text(
            "Cost counts the CPU time of everything but the load generator, which is no part of a shop. Database and "
            "telemetry stand apart: they are there whichever topology is chosen."
        ),
        Heading("Core-hours for a million journeys"),
        Figures([cost_chart(view)], fills),
        cost_table(view),
        Heading("CPU and memory over time"),
        Figures(
            [cores_chart(view, look) for look in view.looks],
            fills,
            "Cores in use, mean over the blocks, second by second since the start of the load.",
        ),
        Figures([memory_chart(view, look) for look in view.looks], fills, "Memory in MiB, mean over the blocks."),
        cpu_table(view),
        memory_table(view),
    ]
    return Section("resources", "Resources and cost", elements)


def groups_of(view: View) -> list[str]:
    """The groups of components that this run has."""
    present = {component_group(name) for name in view.run.resources["component"].unique()}
    return [group for group in GROUPS if group in present]


def fill_of(group: str) -> int:
    """Number of the texture of a group of components."""
    return _FILLS.get(group, 0)


def cost_chart(view: View) -> Chart:
    """Stacked core-hours, a row per topology."""
    rows: list[dict[str, Any]] = []
    totals: list[dict[str, Any]] = []
    for look in view.looks:
        cost = view.summary["topologies"][look.name]["cost"]
        rows += [
            {"topology": look.name, "group": group, "hours": one["value"], "order": GROUPS.index(group)}
            for group, one in cost.items()
            if group in GROUPS and group not in (TOTAL, GENERATOR_GROUP)
        ]
        whole = cost[TOTAL]
        low, high = whole["ci95"]
        totals.append(
            {
                "topology": look.name,
                "sum": whole["value"],
                "low": low,
                "high": high,
                "end": high or whole["value"],
                "text": numbers.plain(whole["value"]),
            }
        )
    top = max((row["end"] for row in totals), default=1.0) or 1.0
    x = {
        "field": "hours",
        "type": "quantitative",
        "stack": "zero",
        "scale": {"domain": [0, top * 1.15], "nice": False},
        "axis": {"title": "core-hours", "tickCount": 5},
    }
    fills = {"domain": list(GROUPS), "range": [f"url(#g{fill_of(group)})" for group in GROUPS]}
    spec: Spec = {
        "height": {"step": 30},
        "encoding": {"y": topology_axis(view)},
        "layer": [
            {
                "mark": {"type": "bar", "stroke": "var(--paper)", "strokeWidth": 1},
                "encoding": {
                    "x": x,
                    "order": {"field": "order", "type": "quantitative"},
                    "color": {"field": "group", "type": "nominal", "legend": None, "scale": fills},
                },
            },
            {
                "data": {"values": [row for row in totals if row["low"] is not None and row["high"] is not None]},
                "mark": {"type": "rule", "color": INK, "strokeWidth": 1.6},
                "encoding": {"x": {"field": "low", "type": "quantitative"}, "x2": {"field": "high"}},
            },
            {
                "data": {"values": totals},
                "mark": {"type": "text", "align": "left", "dx": 5, "fontSize": 11, "color": INK},
                "encoding": {"x": {"field": "end", "type": "quantitative"}, "text": {"field": "text"}},
            },
        ],
    }
    described = "; ".join(f"{row['topology']} {row['text']}" for row in totals)
    return draw("Cost", f"Core-hours for a million journeys: {described}.", spec, rows)


def cpu_table(view: View) -> Table:
    """CPU milliseconds of a journey by component."""
    components = sorted(
        {name for one in view.summary["topologies"].values() for name in one["cpu_ms_per_journey"]},
        key=lambda name: (GROUPS.index(component_group(name)), name),
    )
    columns = [Column("component", numeric=False), Column("group", numeric=False)]
    columns += [Column(look.name, "ms") for look in view.looks]
    rows = [
        [
            words(component),
            words(component_group(component)),
            *(
                number(view.summary["topologies"][name]["cpu_ms_per_journey"].get(component))
                for name in view.topologies
            ),
        ]
        for component in components
    ]
    return Table("cpu", "CPU time of a journey by component, ms", columns, rows)


def memory_table(view: View) -> Table:
    """Peak memory by component."""
    components = sorted(
        {name for one in view.summary["topologies"].values() for name in one["rss_mb"]},
        key=lambda name: (GROUPS.index(component_group(name)), name),
    )
    columns = [Column("component", numeric=False), *(Column(look.name, "MiB") for look in view.looks)]
    rows = [
        [
            words(component),
            *(number(view.summary["topologies"][name]["rss_mb"].get(component)) for name in view.topologies),
        ]
        for component in components
    ]
    return Table("memory", "Peak memory by component, MiB", columns, rows)


def cores_chart(view: View, look: Look) -> Chart:
    """Cores in use over time, stacked by group."""
    return _area(view, look, "cores", "cores")


def memory_chart(view: View, look: Look) -> Chart:
    """Memory over time, stacked by group."""
    return _area(view, look, "memory_mb", "MiB")


def _area(view: View, look: Look, what: str, unit: str) -> Chart:
    rows = _over_time(view, look.name, what)
    fills = {"domain": list(GROUPS), "range": [f"url(#g{fill_of(group)})" for group in GROUPS]}
    spec: Spec = {
        "height": 110,
        "mark": {"type": "area", "stroke": "var(--paper)", "strokeWidth": 0.8},
        "encoding": {
            "x": {
                "field": "s",
                "type": "quantitative",
                "scale": {"nice": False},
                "axis": {"title": "seconds since the start", "grid": False},
            },
            "y": {"field": "value", "type": "quantitative", "stack": "zero", "axis": {"title": unit, "tickCount": 4}},
            "order": {"field": "order", "type": "quantitative"},
            "color": {"field": "group", "type": "nominal", "legend": None, "scale": fills},
        },
    }
    return draw(look.name, f"{unit} used by {look.name} over time, by group of components.", spec, rows)


def _over_time(view: View, topology: str, what: str) -> list[dict[str, Any]]:
    frame = view.run.resources.filter(pl.col("topology") == topology).sort("block", "component", "at_ns")
    if frame.is_empty():
        return []
    by_group: dict[str, Any] = {}
    begins = {block: int(str(one["at_ns"].min())) for (block,), one in frame.group_by("block")}
    long_s = min(
        (int(str(one["at_ns"].max())) - begins[block]) / _NS_PER_S for (block,), one in frame.group_by("block")
    )
    grid = np.linspace(0, long_s, min(_BINS, max(2, int(long_s))) + 1)
    for (block, component), one in frame.group_by("block", "component", maintain_order=True):
        at = (one["at_ns"].to_numpy() - begins[block]) / _NS_PER_S
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
