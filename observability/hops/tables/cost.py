"""The cost of a million journeys."""

from __future__ import annotations

from hops.analysis.cost import EDGE_CACHE_GROUP, GENERATOR_GROUP, GROUPS
from hops.elements.table import Column, Table
from hops.tables.estimate import estimate_cell
from hops.tables.view import SummaryView

_SPARE = {
    **dict.fromkeys((EDGE_CACHE_GROUP, "edge", "database", "cache"), 1),
    **dict.fromkeys(("sidecars", "control plane", "telemetry", "other"), 2),
    GENERATOR_GROUP: 3,
}


def cost_table(view: SummaryView) -> Table:
    """Lists each topology's core-hours for a million journeys, by group of components and in total."""
    costs = {name: view.summary["topologies"][name]["cost"] for name in view.topologies}
    present = [group for group in GROUPS if any(group in cost for cost in costs.values())]
    columns = [Column(view.compared.one, numeric=False)]
    columns += [Column(group, "core-hours", interval=True, spare=_SPARE.get(group, 0)) for group in present]
    rows = [[view.name(name), *(estimate_cell(cost.get(group)) for group in present)] for name, cost in costs.items()]
    over = ", with 95 % intervals over blocks" if view.summary["blocks"] > 1 else ""
    return Table("cost", view.mark_caption(f"Core-hours for a million journeys{over}"), columns, rows)
