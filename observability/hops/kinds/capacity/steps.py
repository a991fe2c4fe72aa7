"""One step: what the rows of a trial show about a topology under one load, and whether it held."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hops.analysis.cost import GENERATOR_GROUP, TOTAL, component_group
from hops.analysis.topology import latency_figures
from hops.gates.limits import gate_failure, kind_of
from hops.gates.verdict import failing_gates
from hops.kinds.capacity.document import PEAK_BEGINS, PEAK_PARTS, STAIRS, Phase, Step
from hops.kinds.capacity.search import Seen
from hops.run.documents.trial import TrialRecord
from hops.run.rows import FAILURES
from hops.units import NS_PER_MS, NS_PER_S

WELL = 0.9
"""In a good second, at least this share of the arriving journeys ends ok within the objective."""
CLEARLY = 5.0
"""A rate is clearly too high, and not repeated, if p99 is at least this multiple of the objective."""
CLEAR_FAILURE_SHARE = 0.01
GENERATOR_GATES = ("tape_unsent", "tape_exhausted", "start_lag_p99_ms", "start_lag_mean_ms", "generator_cores")
"""Gates on the generator. If one fails, the step may have failed because of the generator. A step that holds still
counts, since latency is measured from the intended arrival."""


def step_of(
    topology: str, phase: Phase, record: TrialRecord, rows: pl.DataFrame, load: Mapping[str, Any], objective_ms: float
) -> Step:
    """Makes a step from the results of its trial, and judges it."""
    sending = load["sending"]
    rate, closed = float(sending["rate"]), sending["closed"]
    duration_s, journeys, recovered_s = float(sending["duration_s"]), rows, None
    if phase == "peak":
        part_s, factor = duration_s / len(STAIRS), max(sending["steps"])
        journeys, recovered_s = in_peak(rows, part_s), recovery_s(rows, part_s, objective_ms)
        duration_s, rate = PEAK_PARTS * part_s, rate * factor
    ok_ms = journeys.filter(pl.col("outcome") == "ok")["latency_ns"].to_numpy() / NS_PER_MS
    figures = latency_figures([ok_ms] if ok_ms.size else [], seed=0)
    step = Step(
        label=record["topology"],
        topology=topology,
        phase=phase,
        rate=rate if closed is None else None,
        users=None if closed is None else int(closed["vus"]),
        duration_s=duration_s,
        journeys=journeys.height,
        connections=int(record["generator"].get("connections", 0)),
        throughput_per_s=_ended_in_time(journeys, duration_s) / duration_s,
        latency_ms=figures["latency_ms"],
        latency_ci95=figures["latency_ci95"],
        errors={name: journeys.filter(pl.col("outcome") == name).height for name in FAILURES},
        under_way_most=most_under_way(journeys["started_ns"].to_numpy(), journeys["ended_ns"].to_numpy()),
        recovery_s=recovered_s,
        holds=None,
        reasons=[],
        limits=[name for name in failing_gates(record["gates"]) if name in GENERATOR_GATES],
        start_lag_p99_ms=next((row["value"] for row in record["gates"] if row["name"] == "start_lag_p99_ms"), None),
        cores=_cores(record),
        memory_peak_mb=record["memory_peak_mb"],
    )
    if phase in ("search", "confirm"):
        step["reasons"] = list(_reasons(step, record, objective_ms))
        step["holds"] = not step["reasons"]
    return step


def seen_in(step: Step, objective_ms: float) -> Seen:
    """Converts a judged step into what the search needs to know about it."""
    assert step["rate"] is not None
    p99 = step["latency_ms"]["p99"]
    missed = p99 is not None and p99 >= CLEARLY * objective_ms
    clear = missed or (_failure_share(step) or 0.0) >= CLEAR_FAILURE_SHARE
    return Seen(step["rate"], bool(step["holds"]), clear, bool(step["limits"]))


def in_peak(journeys: pl.DataFrame, part_s: float) -> pl.DataFrame:
    """Selects the journeys that arrived in the peak of an overload, whose parts last `part_s` each."""
    begins, ends = PEAK_BEGINS * part_s, (PEAK_BEGINS + PEAK_PARTS) * part_s
    return journeys.filter(_arrived_s().is_between(begins, ends, closed="left"))


def recovery_s(journeys: pl.DataFrame, part_s: float, objective_ms: float) -> float | None:
    """Computes how many whole seconds after an overload's peak a topology recovered; None if not within the load."""
    since = (_arrived_s() - (PEAK_BEGINS + PEAK_PARTS) * part_s).floor().cast(pl.Int64)
    well = (pl.col("outcome") == "ok") & (pl.col("latency_ns") <= objective_ms * NS_PER_MS)
    seconds = (
        journeys.with_columns(since.alias("second"), well.alias("well"))
        .filter(pl.col("second") >= 0)
        .group_by("second")
        .agg(pl.col("well").mean())
    )
    unwell = seconds.filter(pl.col("well") < WELL)["second"].to_list()
    if not unwell:
        return 0.0
    return None if max(unwell) == max(seconds["second"].to_list()) else max(unwell) + 1.0


def most_under_way(started_ns: npt.NDArray[np.int64], ended_ns: npt.NDArray[np.int64]) -> int:
    """Computes the maximum number of concurrent journeys, from the start and the end of each."""
    if not started_ns.size:
        return 0
    at = np.concatenate([ended_ns, started_ns])  # if an end and a start coincide, the end counts first
    change = np.concatenate([np.full(ended_ns.size, -1), np.full(started_ns.size, 1)])
    return int(np.cumsum(change[np.argsort(at, kind="stable")]).max())


def _reasons(step: Step, record: TrialRecord, objective_ms: float) -> list[str]:
    """Lists the reasons why a step does not hold.

    A search step is judged by p99 itself, a confirmation by the upper end of its 95 % interval. Both are also judged by
    the share of failed journeys, and by whether the whole tape was sent.
    """
    confirms = step["phase"] == "confirm"
    p99 = step["latency_ci95"]["p99"][1] if confirms else step["latency_ms"]["p99"]
    reasons = []
    if p99 is None:
        reasons.append(f"{step['journeys']} journeys are too few for p99")
    elif p99 >= objective_ms:
        what = "the upper bound of p99" if confirms else "p99"
        reasons.append(f"{what} is {p99:,.0f} ms, not below {objective_ms:,g}")
    failures = kind_of("failure_share").evaluate(_failure_share(step))
    unsent = [gate for gate in record["gates"] if gate["name"] == "tape_unsent"]
    return reasons + [gate_failure(gate) for gate in (failures, *unsent) if not gate["ok"]]


def _failure_share(step: Step) -> float | None:
    return sum(step["errors"].values()) / step["journeys"] if step["journeys"] else None


def _cores(record: TrialRecord) -> dict[str, float]:
    cores = {TOTAL: 0.0, GENERATOR_GROUP: 0.0}
    for name, used_s in record["cpu_s"].items():
        group, used = component_group(name), used_s / float(record["generator"]["wall_s"])
        cores[group] = cores.get(group, 0.0) + used
        cores[TOTAL] += 0.0 if group == GENERATOR_GROUP else used
    return cores


def _arrived_s() -> pl.Expr:
    return (pl.col("intended_ns") - pl.col("intended_ns").min()) / NS_PER_S


def _ended_in_time(journeys: pl.DataFrame, duration_s: float) -> int:
    over = pl.col("started_ns").min() + int(duration_s * NS_PER_S)
    return journeys.filter((pl.col("outcome") == "ok") & (pl.col("ended_ns") <= over)).height
