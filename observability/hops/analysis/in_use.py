"""How close to saturation a run was: the share of the processors that each topology kept busy."""

from __future__ import annotations

import polars as pl

from hops.analysis.cost import GENERATOR_GROUP, TELEMETRY, component_group
from hops.run.documents.summary import InUse
from hops.run.files import RunFiles
from hops.units import NS_PER_S


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
        shop = {name: cpu_s for name, cpu_s in used.items() if _is_shop(name)}
        if shop and seconds[topology]:
            busiest = max(shop, key=shop.__getitem__)
            by_topology[topology] = InUse(
                machine=sum(used.values()) / seconds[topology] / cores if cores else None,
                component=busiest,
                core=shop[busiest] / seconds[topology],
            )
    return by_topology


def _is_shop(component: str) -> bool:
    return component != TELEMETRY and component_group(component) != GENERATOR_GROUP
