"""Does the measurement find calls that waited for a busy event loop, for how long, and at which component?

In each arm, some requests block one component's event loop for a known time (a hold), as a long computation would.
Every journey is traced, so the traces of these requests say exactly when the loop was blocked. A call that arrived
during a hold waited from its start to the end of the hold. This is the true wait; the budget reports its estimate as
`queue:<component>`. After the hold, the blocking request continues its work, and the waiting calls also wait for each
other. So the measured wait may be longer, which `ELSE_MS` and `ELSE_SHARE` allow for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import typer

from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import Arm, Plan
from experiment.plan.profiles import Profile
from hops.elements.table import Cell, Column, Table, table_of, whole, words
from hops.run.files import CALLS_FILE, HOPS_FILE
from hops.statistics.intervals import mean_interval
from hops.units import NS_PER_MS
from mesh.description.options import Json
from mesh.description.switches import parse_switches
from mesh.description.topology import Topology
from mesh.paths import ROOT
from proofs.measurement.in_trials import RETRY, Trials, describe
from proofs.outcome import proves

NAME = "prove-queues"
PROFILE = Profile("proof", warmup_s=2, duration_s=20, rate=30.0, parity_samples=1)
COMPONENTS = ("graphql-gateway", "product", "order", "payment")
SIZES_MS = {5: 2, 20: 8, 100: 30}
"""Length of a hold, ms -> N, for a hold at every Nth request; the loop is blocked for at most a tenth of the time."""
MIN_WAIT_MS = 1.0
"""Minimum wait: calls at the very end of a hold are left out."""
MIN_WAITED = 3
ELSE_MS, ELSE_SHARE = 3.0, 0.1


@dataclass(frozen=True, slots=True)
class FoundQueue:
    """Result of the measurement for one kind of hold; times in ms, means over all waiting calls.

    Attributes:
        waited: Number of calls that arrived during a hold.
        true_ms: True wait of these calls until the end of the hold.
        found_ms: Queueing time of these calls according to their spans.
        off_ci95: Interval of the mean difference, found minus true wait.
        largest: The `queue:` part that grew most in waiting journeys, compared with the others.
    """

    component: str
    hold_ms: float
    waited: int
    true_ms: float
    found_ms: float
    off_ci95: tuple[float | None, float | None]
    largest: str

    @property
    def failed(self) -> tuple[str, ...]:
        """Why the wait counts as not found; empty if it was found."""
        if self.waited < MIN_WAITED:
            return (f"only {self.waited} calls waited: give more blocks",)
        low, high = self.off_ci95
        allowed = ELSE_MS + ELSE_SHARE * self.true_ms
        reasons = {
            "the interval of the difference does not reach the truth": low is None
            or high is None
            or low > allowed
            or high < -allowed,
            f"{self.largest} is larger": self.largest != f"queue:{self.component}",
        }
        return tuple(reason for reason, there in reasons.items() if there)

    @property
    def holds(self) -> bool:
        """Whether the wait was found at the right component, with the right length."""
        return not self.failed


def proof_plan(topology: Topology, blocks: int, seed: int) -> Plan:
    """Makes the plan: an arm for each component and size in every block."""
    arms = [
        Arm(f"{component}-{ms}ms", topology, parse_switches(trace=1, hold=f"{component}:{ms}ms/{every}"))
        for component in COMPONENTS
        for ms, every in SIZES_MS.items()
    ]
    return Plan("proof", NAME, tuple(arms), blocks, PROFILE, seed, ROOT / "load" / "workloads" / "default.yaml")


def judge(folder: Path, plan: Plan) -> list[FoundQueue]:
    """Looks for the waits behind each hold in a run's files."""
    calls, hops = (pl.read_parquet(folder / name) for name in (CALLS_FILE, HOPS_FILE))
    return [
        _judge_hold(calls.filter(of_arm), hops.filter(of_arm), component, ms)
        for arm in plan.arms
        for of_arm in [pl.col("topology") == arm.label]
        for component, (ms, _) in arm.switches.hold.items()
    ]


def _judge_hold(calls: pl.DataFrame, hops: pl.DataFrame, component: str, hold_ms: float) -> FoundQueue:
    waits = pl.concat([_waits(rows) for rows in calls.filter(pl.col("callee") == component).partition_by("block")])
    waits = waits.filter(pl.col("true_ns") >= MIN_WAIT_MS * NS_PER_MS)
    did_wait = pl.col("trace_id").is_in(waits["trace_id"].implode())
    mean = [
        dict(rows.group_by("part").agg(pl.col("ns").sum() / rows["trace_id"].n_unique()).iter_rows())
        for rows in (hops.filter(did_wait), hops.filter(~did_wait))
    ]
    more = {part: ns - mean[1].get(part, 0) for part, ns in mean[0].items() if part.startswith("queue:")}
    queued, true = (waits[name].to_numpy() / NS_PER_MS for name in ("queued_ns", "true_ns"))
    return FoundQueue(
        component=component,
        hold_ms=hold_ms,
        waited=waits.height,
        true_ms=float(np.mean(true)) if waits.height else 0.0,
        found_ms=float(np.mean(queued)) if waits.height else 0.0,
        off_ci95=mean_interval(queued - true),
        largest=max(more, key=more.__getitem__, default="none"),
    )


def _waits(calls: pl.DataFrame) -> pl.DataFrame:
    """Returns a trial's calls that did not block the event loop, each with its wait `true_ns` for a hold to end."""
    held = calls.filter(pl.col("injected_ns") > 0)
    if not held.height:
        raise UsageError("no call blocked an event loop in one of the trials; give more blocks")
    from_ns = held["began_ns"].to_numpy()
    to_ns = from_ns + held["injected_ns"].to_numpy()
    others = calls.filter(pl.col("injected_ns") == 0)
    ended, began = others["began_ns"].to_numpy(), (others["began_ns"] - others["ahead_ns"]).to_numpy()
    overlap = np.minimum.outer(ended, to_ns) - np.maximum.outer(began, from_ns)
    return others.with_columns(true_ns=pl.Series(np.clip(overlap, 0, None).sum(axis=1), dtype=pl.Int64))


def queues_table(rows: Sequence[FoundQueue]) -> Table:
    count = sum(row.holds for row in rows)
    return table_of(
        "queues",
        f"Blocked event loops, found as queueing time in {count} of {len(rows)} cases",
        rows,
        [
            (Column("held", "ms", numeric=False), lambda row: words(f"{row.component} {row.hold_ms:g}")),
            (Column("calls that waited"), lambda row: whole(row.waited)),
            (Column("waited", "ms"), lambda row: Cell(f"{row.true_ms:.2f}")),
            (Column("found", "ms"), lambda row: Cell(f"{row.found_ms:.2f}")),
            (Column("off by, 95 %", "ms"), lambda row: Cell(" to ".join(map(_end, row.off_ci95)))),
            (
                Column("verdict", numeric=False),
                lambda row: words("found" if row.holds else f"NOT FOUND: {'; '.join(row.failed)}"),
            ),
        ],
    )


def _end(ms: float | None) -> str:
    return "…" if ms is None else f"{ms:.2f}"


@proves("prove-queues")
def prove_queues(*, trials: Trials, given: typer.Context, as_json: Json = False) -> None:
    """Hold event loops for known times and check that hop budgets show the waits; fails unless every hold is found."""
    trials.prove(
        proof_plan,
        judge,
        describe,
        lambda rows, _: [queues_table(rows)],
        name=NAME,
        given=given,
        as_json=as_json,
        retry=RETRY,
    )
