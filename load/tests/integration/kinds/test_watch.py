"""Customers wait for updates behind sidecars, over streams and with polls, while the tape's customers buy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from experiment.plan.arms_in_blocks import Arm
from experiment.plan.probes import Watching
from hops.kinds.watch.analysis import figures_of_updates
from hops.run.files import RunFiles
from mesh.description.switches import Switches
from mesh.description.topology import load_topology

from ...needs import needs_generator

pytestmark = needs_generator


def test_watchers_behind_sidecars_get_every_update_by_both_ways(run_short: Callable[..., tuple[Any, RunFiles]]) -> None:
    topology, switches = load_topology("hybrid", updates="on"), Switches(updates="on", mesh="envoy", trace=1)
    arms = tuple(Arm(way, topology, switches, probe=Watching(way, 30, 1.0, "web")) for way in ("push", "poll"))
    _, run = run_short("bench", arms)
    assert run.journeys.filter(pl.col("outcome") != "ok").is_empty()
    for arm in arms:
        rows, hops = (run.observed[name].filter(topology=arm.label) for name in ("updates", "update_hops"))
        figures = figures_of_updates(rows, hops)
        assert (figures["missed"], figures["off_ns"]) == (0, 0)
        assert figures["traced"] > 0
        (trial,) = (trial for trial in run.used if trial["topology"] == arm.label)
        assert trial["generator"]["watchers"]["protocol"] == "graphql"
        assert trial["generator"]["watchers"]["bytes"] > 0
    assert not run.observed["update_hops"].filter(pl.col("part").str.starts_with("proxy:"), topology="push").is_empty()
