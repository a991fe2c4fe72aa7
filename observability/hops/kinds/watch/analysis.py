"""How late updates were, and what waiting for them cost, from the rows of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import polars as pl

from hops.analysis.cost import GENERATOR_GROUP, component_group
from hops.analysis.summary import Measured, every_gate
from hops.budget.parts import UNATTRIBUTED
from hops.gates.limits import kind_of
from hops.kinds.watch.document import KIND, Asked, Waited, Watched, watched_of
from hops.run.documents.gate import Gate, LeftOut
from hops.run.documents.trial import TrialRecord
from hops.run.files import RunFiles
from hops.units import NS_PER_MS

PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
_OF_TRACES = ("updates_untraced_share", "updates_gap_ns", "updates_unattributed_share")
NOBODY = {"protocol": "", "reconnects": 0, "longest_reconnect_s": 0.0, "opened_s": 0.0, "open_s": 0.0, "bytes": 0}


def watch_figures(measured: Measured) -> Mapping[str, Watched]:
    """Computes the figures that only a run with waiting customers has."""
    run = measured.run
    asked: Mapping[str, Asked] = run.manifest[KIND]
    of_arms = list(asked.values())
    return {
        KIND: Watched(
            topologies=list(dict.fromkeys(one["topology"] for one in of_arms)),
            ways=list(dict.fromkeys(one["way"] for one in of_arms if one["way"])),
            counts=sorted({one["watchers"] for one in of_arms}),
            blocks=run.blocks,
            interval_s=of_arms[0]["interval_s"],
            waited=[_summarise_waiting(run, trial, asked[trial["topology"]]) for trial in run.used],
        )
    }


def gates_of(run: RunFiles, figures: Mapping[str, Any]) -> tuple[list[Gate], list[LeftOut]]:
    """Evaluates the gates of all trials, and the gates on updates."""
    gates, left_out = every_gate(run, figures)
    waited = [one for one in watched_of(figures)["waited"] if one["watchers"]]
    of_updates: dict[str, float] = {
        "updates_missed": sum(one["missed"] for one in waited),
        "updates_repeated": sum(one["repeated"] for one in waited if not one["reconnects"]),
        "without_updates": sum(not one["updates"] for one in waited),
    }
    if traced := [one for one in waited if one["traced"] or one["untraced"]]:
        of_updates |= {
            "updates_untraced_share": max(one["untraced"] / (one["traced"] + one["untraced"]) for one in traced),
            "updates_gap_ns": max(one["off_ns"] for one in traced),
            "updates_unattributed_share": max(map(_unattributed_share, traced)),
        }
    else:
        left_out = [*left_out, *(LeftOut(name=name, reason="no update was traced") for name in _OF_TRACES)]
    return [*gates, *(kind_of(name).evaluate(value) for name, value in of_updates.items())], left_out


def _unattributed_share(waited: Waited) -> float:
    budget_ms = waited["budget_ms"]
    return budget_ms.get(UNATTRIBUTED, 0.0) / sum(budget_ms.values()) if budget_ms else 0.0


def figures_of_updates(updates: pl.DataFrame, hops: pl.DataFrame) -> dict[str, Any]:
    """Computes counts, lateness and budgets of updates (`rows.WATCHED`); `hops` are those of the traced updates."""
    first = updates.filter(~pl.col("again") & ~pl.col("missed"))
    late_ms = (first["arrived_ns"] - first["created_ns"]) / NS_PER_MS
    lateness_ms = {name: late_ms.quantile(at, "linear") for name, at in PERCENTILES.items() if first.height}
    traced = hops["trace_id"].n_unique()
    parts = hops.group_by("part").agg(pl.col("ns").sum() / max(traced, 1) / NS_PER_MS).sort("part")
    return {
        "updates": first.height,
        "missed": updates.filter("missed").height,
        "repeated": updates.filter("again").height,
        "lateness_ms": lateness_ms,
        "budget_ms": dict(parts.iter_rows()),
        "traced": traced,
        "untraced": first.filter((pl.col("trace_id") != "") & ~pl.col("traced")).height,
        "off_ns": updates["off_ns"].abs().max() or 0,
    }


def _summarise_waiting(run: RunFiles, trial: TrialRecord, asked: Asked) -> Waited:
    of_trial = (pl.col("block") == trial["block"]) & (pl.col("topology") == trial["topology"])
    journeys = run.journeys.filter(of_trial)
    updates, hops = (run.observed[name].filter(of_trial) for name in ("updates", "update_hops"))
    cpu_s, memory_mb = (
        {name: value for name, value in of.items() if component_group(name) != GENERATOR_GROUP}
        for of in (trial["cpu_s"], trial["rss_mb"])
    )
    waited = {
        "block": trial["block"],
        **asked,
        "journeys": journeys.height,
        "failed": journeys.filter(pl.col("outcome") != "ok").height,
        "seconds": float(trial["generator"]["wall_s"]),
        "cpu_s": cpu_s,
        "memory_mb": memory_mb,
        **NOBODY,
        **trial["generator"].get("watchers", {}),
        **figures_of_updates(updates, hops),
    }
    return cast("Waited", waited)
