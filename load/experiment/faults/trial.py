"""One fault of one topology: a trial during whose load it strikes, and what the customers' record says afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import psycopg

from experiment.faults.faults import FAULTS, Chosen
from experiment.faults.repetition import acknowledged, repetition
from experiment.faults.strike import Strike
from experiment.generator.shopload import Load, Shopload, Tape, stop
from experiment.generator.tapes import Tapes
from experiment.parity.under_load import reference_digests
from experiment.plan.arms_in_blocks import Arm, Plan
from experiment.results.folder import write_json
from experiment.trial.outcome import JOURNEYS, Clock, Trial
from experiment.trial.replay import Replay
from experiment.trial.run import Say, ready
from experiment.trial.sender import WATCH_S, sender_of
from hops.run.rows import read_journeys
from hops.units import NS_PER_MS
from mesh.components.shop_processes import TRIAL_DATABASE
from mesh.runtime import Runtime

STRIKES_AFTER_S = 4.0
LAST_S = 1.0
"""A topology whose journeys still fail in so many last seconds of the load is not over the fault."""
PERCENTILES = {"p50": 0.5, "p99": 0.99}
ANSWERED_WITHIN_S = SETTLE_LIMIT_S = 60.0
"""A purchase that a fault has interrupted is taken up again by the service, which until then asks to be asked later."""
POLL_S = 0.05
MESSAGES = 3
NS_PER_S = 1e9
STRUCK = "struck.json"
"""The trial's file of what only a fault has."""
UNSETTLED = """
    SELECT (SELECT count(*) FROM shop_order.checkout WHERE state IN ('RUNNING', 'UNDOING'))
         + (SELECT count(*) FROM shop_order.cancellation WHERE state = 'RUNNING')
         + (SELECT count(*) FROM shop_order.outbox)
"""


def run_struck(
    system: Runtime,
    shopload: Shopload,
    tapes: Tapes,
    arm: Arm,
    plan: Plan,
    folder: Path,
    *,
    say: Say,
    parity_in_full: bool = True,  # noqa: ARG001 - the answers under load are all compared
    meanwhile: Callable[[], object] = lambda: None,
) -> Trial:
    """Runs the trial of one fault; arguments and errors are those of `experiment.trial.run.run_trial`."""
    fault = Chosen.named(arm.fault)
    FAULTS[fault.kind].require(arm.fault)
    clock, of_arm, sending = Clock(), tapes.loads[arm.tape], plan.sending(arm)
    load = Load(of_arm.load, sending.duration_s)
    with FAULTS[fault.kind].around(system, fault.target) as (struck, strike):
        warmup = Load(of_arm.warmup, sending.warmup_s)
        with ready(struck, shopload, tapes.spot_check, warmup, folder, clock, say, meanwhile):
            reference = reference_digests(struck, load.tape)
            say(f"replaying {load}, {fault} after {STRIKES_AFTER_S:g} s")
            moments = _Moments(struck, strike)
            sender = sender_of(struck, shopload, moments.strike)
            replay = Replay(struck, shopload, load, folder, clock, reference, sender)
            record = folder / "acknowledged.jsonl"
            asked = _ask_again(struck, shopload, replay.rows, load.tape, folder, record) | _settled(struck)
            say(f"{asked['repeated']} purchases repeated; all settled after {asked['settle_s']:.1f} s")
            replay.collect(record, once_told=struck.stop_serving)
            say(f"audit: {replay.audit_in_words}")
    figures = {"fault": arm.fault, "about": fault.about, **moments.figures(replay.rows), **asked}
    write_json(folder / STRUCK, figures | {"broken": replay.broken})
    return replay.trial(overload=True, edge_log=struck.edge_log)


class _Moments:
    """Strikes, and notes when.

    Args:
        system: The system, which runs.
        strike: Does the fault and undoes it.
    """

    def __init__(self, system: Runtime, strike: Strike) -> None:
        self._system, self._strike = system, strike
        self._began_ns = self._ended_ns = 0

    def strike(self) -> None:
        """Waits, and strikes; the load has begun."""
        self._wait(STRIKES_AFTER_S)
        self._began_ns = time.time_ns()
        self._strike(self._wait)
        self._ended_ns = time.time_ns()

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left_s := until - time.monotonic()) > 0:
            self._system.check()
            time.sleep(min(WATCH_S, left_s))

    def figures(self, journeys: pl.DataFrame) -> dict[str, Any]:
        """What the fault did to a load's journeys."""
        return figures_of(journeys, self._began_ns, self._ended_ns)


def figures_of(journeys: pl.DataFrame, began: int, ended: int) -> dict[str, Any]:
    """What a fault did to a load's journeys.

    Args:
        journeys: Rows of `hops.run.rows.JOURNEYS`.
        began: When it began, in nanoseconds of the Unix epoch.
        ended: When it ended.

    Returns:
        Figures of `hops.kinds.chaos.document.Struck`.
    """
    arrived = pl.col("intended_ns")
    ok, failed = journeys.filter(pl.col("outcome") == "ok"), journeys.filter(pl.col("outcome") != "ok")
    last_failed = int(failed["intended_ns"].max() or 0)  # type: ignore[arg-type] # a column of integers
    during = arrived.is_between(began, ended + LAST_S * NS_PER_S)
    messages = failed.select(pl.col("error").fill_null("")).to_series().value_counts(sort=True).head(MESSAGES)
    return {
        "journeys": journeys.height,
        "failed": _counts(failed, "outcome"),
        "failed_journeys": _counts(failed, "journey"),
        "messages": dict(messages.iter_rows()),
        "lasted_s": (ended - began) / NS_PER_S,
        "failing_s": max(0.0, (last_failed - began) / NS_PER_S),
        # A fault that outlasts the load and fails nobody leaves nothing to be over.
        "over": not last_failed or max(last_failed, ended) < int(journeys["intended_ns"].max()) - LAST_S * NS_PER_S,  # type: ignore[arg-type]
        "before_ms": _latency_ms(ok.filter(arrived < began)),
        "during_ms": _latency_ms(ok.filter(during)),
    }


def _counts(rows: pl.DataFrame, column: str) -> dict[str, int]:
    return dict(rows[column].value_counts(sort=True).iter_rows())


def _latency_ms(rows: pl.DataFrame) -> dict[str, float]:
    if rows.is_empty():
        return {}
    return {name: rows.select(pl.col("latency_ns").quantile(at)).item() / NS_PER_MS for name, at in PERCENTILES.items()}


def _ask_again(
    system: Runtime, shopload: Shopload, rows: pl.DataFrame, tape: Tape, folder: Path, record: Path
) -> dict[str, float]:
    """Repeats the purchases that failed until each is answered, and writes what customers were told of."""
    failed, rounds, began = _failed(rows), [(folder, tape)], time.monotonic()
    repeated = len(failed)
    while failed and time.monotonic() - began < ANSWERED_WITHIN_S:
        out = folder / f"repeated-{len(rounds)}"
        out.mkdir()
        load = repetition(rounds[-1][1], failed, out / "tape.jsonl")
        process = shopload.start_replay(load, system.target, out, trace=0, quiet=True)
        try:
            shopload.finish_replay(process)
        finally:
            stop(process)
        failed = _failed(read_journeys(out / JOURNEYS))
        rounds.append((out, load.tape))
    told = acknowledged([(where / JOURNEYS, sent.path) for where, sent in rounds], record)
    return {"repeated": repeated, "unanswered": len(failed), "checkouts": told}


def _failed(rows: pl.DataFrame) -> set[int]:
    return set(rows.filter((pl.col("journey") == "checkout") & (pl.col("outcome") != "ok"))["seq"].to_list())


def _settled(system: Runtime) -> dict[str, float]:
    """Waits until no saga is under way and every update is delivered."""
    began = time.monotonic()
    with psycopg.connect(
        system.database.admin_url_of(TRIAL_DATABASE), connect_timeout=10, autocommit=True
    ) as connection:
        while True:
            row = connection.execute(UNSETTLED).fetchone()
            left, waited_s = int(row[0]) if row else 0, time.monotonic() - began
            if not left or waited_s > SETTLE_LIMIT_S:
                return {"settle_s": waited_s, "unsettled": left}
            time.sleep(POLL_S)
