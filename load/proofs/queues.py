"""Does the measurement find whom a busy event loop kept waiting, for how long, and at which component?

In each arm one component holds its event loop for a known time at some of its requests, as a long computation would.
Every journey is traced, so that the traces of those that held say exactly when the loop was held. Whoever called the
component meanwhile waited from its call to the end of the hold, which is the truth, and what its budget says is
`queue:<component>`. A loop does more than hold: the request that held it goes on with its work, and those that came
meanwhile wait for each other, too. So what is found may be longer by that: `ELSE_MS` and `ELSE_SHARE` allow for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import Arm, Plan
from experiment.plan.profiles import Profile
from hops.elements.table import Cell, Column, Table, whole, words
from hops.run.files import CALLS_FILE, HOPS_FILE
from hops.statistics.intervals import mean_interval
from hops.units import NS_PER_MS
from mesh.description.switches import parse_switches
from mesh.description.topology import Topology
from mesh.paths import ROOT

NAME = "prove-queues"
PROFILE = Profile("proof", warmup_s=2, duration_s=20, rate=30.0, parity_samples=1)
COMPONENTS = ("graphql-gateway", "product", "order", "payment")
SIZES_MS = {5: 2, 20: 8, 100: 30}
"""How long a hold is, ms, and at each how manieth request: so that the loop is held for a tenth of the time or less."""
MIN_WAIT_MS = 1.0
"""Who came at the very end of a hold waited for hardly anything, and is not looked at."""
MIN_WAITED = 3
ELSE_MS, ELSE_SHARE = 3.0, 0.1


@dataclass(frozen=True, slots=True)
class FoundQueue:
    """What the measurement says about one kind of hold; times in ms, means over all who waited.

    Attributes:
        component: The component that was held.
        hold_ms: For how long.
        waited: Calls that came during a hold.
        true_ms: How long they waited for its end.
        found_ms: What their spans say that they queued.
        off_ci95: Interval of the mean of found minus true.
        largest: The `queue:` of which journeys that waited have most beyond what the others have.
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
        """Whether the wait was found where it was and as long as it was."""
        return not self.failed


def proof_plan(topology: Topology, *, blocks: int, seed: int) -> Plan:
    """The experiment: an arm for each component and size in every block."""
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
        _judged(calls.filter(of_arm), hops.filter(of_arm), component, ms)
        for arm in plan.arms
        for of_arm in [pl.col("topology") == arm.label]
        for component, (ms, _) in arm.switches.hold.items()
    ]


def _judged(calls: pl.DataFrame, hops: pl.DataFrame, component: str, hold_ms: float) -> FoundQueue:
    waits = pl.concat([_waits(rows) for rows in calls.filter(pl.col("callee") == component).partition_by("block")])
    waits = waits.filter(pl.col("true_ns") >= MIN_WAIT_MS * NS_PER_MS)
    did_wait = pl.col("trace_id").is_in(waits["trace_id"].implode())
    mean = [
        dict(rows.group_by("part").agg(pl.col("ns").sum() / rows["trace_id"].n_unique()).iter_rows())
        for rows in (hops.filter(did_wait), hops.filter(~did_wait))
    ]
    more = {part: ns - mean[1].get(part, 0) for part, ns in mean[0].items() if part.startswith("queue:")}
    found, true = (waits[name].to_numpy() / NS_PER_MS for name in ("queued_ns", "true_ns"))
    return FoundQueue(
        component=component,
        hold_ms=hold_ms,
        waited=waits.height,
        true_ms=float(np.mean(true)) if waits.height else 0.0,
        found_ms=float(np.mean(found)) if waits.height else 0.0,
        off_ci95=mean_interval(found - true),
        largest=max(more, key=more.__getitem__, default="none"),
    )


def _waits(calls: pl.DataFrame) -> pl.DataFrame:
    """The calls of one trial that held nobody up, with how long each waited for the end of a hold, `true_ns`."""
    held = calls.filter(pl.col("injected_ns") > 0)
    if not held.height:
        raise UsageError("no request was held in one of the trials; give more of them")
    from_ns = held["began_ns"].to_numpy()
    to_ns = from_ns + held["injected_ns"].to_numpy()
    others = calls.filter(pl.col("injected_ns") == 0)
    ended, began = others["began_ns"].to_numpy(), (others["began_ns"] - others["ahead_ns"]).to_numpy()
    overlap = np.minimum.outer(ended, to_ns) - np.maximum.outer(began, from_ns)
    return others.with_columns(true_ns=pl.Series(np.clip(overlap, 0, None).sum(axis=1), dtype=pl.Int64))


def queues_table(rows: Sequence[FoundQueue]) -> Table:
    """A row for each component and length of a hold."""
    columns = [Column("held", "ms", numeric=False), Column("calls that waited"), Column("waited", "ms")]
    columns += [Column("found", "ms"), Column("off by, 95 %", "ms"), Column("verdict", numeric=False)]
    cells = [
        [
            words(f"{row.component} {row.hold_ms:g}"),
            whole(row.waited),
            Cell(f"{row.true_ms:.2f}"),
            Cell(f"{row.found_ms:.2f}"),
            Cell(" to ".join("…" if end is None else f"{end:.2f}" for end in row.off_ci95)),
            words("found" if row.holds else f"NOT FOUND: {'; '.join(row.failed)}"),
        ]
        for row in rows
    ]
    found = sum(row.holds for row in rows)
    return Table("queues", f"Held event loops, found as queue: in {found} of {len(rows)} cases", columns, cells)
