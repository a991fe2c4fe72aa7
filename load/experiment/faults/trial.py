"""The trial of a fault that strikes during the load; the data are then compared with the answers to customers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl

from experiment.faults.faults import FAULTS, TargetedFault
from experiment.faults.repetition import make_repetition, write_acknowledged
from experiment.faults.settling import wait_until_settled
from experiment.faults.strike import Strike
from experiment.generator.shopload import Load, Shopload, Tape, stop
from experiment.generator.tapes import Tapes
from experiment.parity.under_load import reference_digests
from experiment.plan.arms_in_blocks import Arm, Plan
from experiment.trial.outcome import JOURNEYS, Clock, Trial
from experiment.trial.replay import Replay
from experiment.trial.run import Say, ready
from experiment.trial.sender import WATCH_S, sender_of
from hops.run.documents.trial import Fault
from hops.run.rows import read_rows
from mesh.components.shop_processes import TRIAL_DATABASE
from mesh.runtime import Runtime

STRIKES_AFTER_S = 4.0
ANSWERED_WITHIN_S = 60.0
"""Time limit for repeating purchases. Until the service resumes an interrupted purchase, it asks customers to retry
later."""


def run_struck(
    system: Runtime,
    shopload: Shopload,
    tapes: Tapes,
    arm: Arm,
    plan: Plan,
    folder: Path,
    *,
    say: Say,
    parity_in_full: bool = True,  # noqa: ARG001 - all answers under load are compared anyway
    meanwhile: Callable[[], object] = lambda: None,
) -> Trial:
    """Runs the trial of one fault; arguments and errors are those of `experiment.trial.run.run_trial`."""
    fault = TargetedFault.parse(arm.fault)
    FAULTS[fault.kind].require(arm.fault)
    clock, of_arm, sending = Clock(), tapes.loads[arm.tape], plan.sending(arm)
    load = Load(of_arm.load, sending.duration_s)
    with FAULTS[fault.kind].around(system, fault.target) as (struck, strike):
        warmup = Load(of_arm.warmup, sending.warmup_s)
        with ready(struck, shopload, tapes.spot_check, warmup, folder, clock, say, meanwhile):
            reference = reference_digests(struck, load.tape, (), say)
            say(f"replaying {load}, {fault} after {STRIKES_AFTER_S:g} s")
            moments = _Moments(struck, strike)
            sender = sender_of(struck, shopload, moments.strike)
            replay = Replay(struck, shopload, load, folder, clock, reference, sender)
            record = folder / "acknowledged.jsonl"
            asked = _ask_again(struck, shopload, replay.rows, load.tape, folder, record) | _settle(struck)
            settled = f"{asked['unsettled']} not settled" if asked["unsettled"] else "all settled"
            say(f"{asked['repeated']} purchases repeated; {settled} after {asked['settle_s']:.1f} s")
            replay.collect(record, release_services=struck.stop_serving)
            say(f"audit: {replay.audit_in_words}")
    trial = replay.trial(overload=True, edge_log=struck.edge_log)
    facts = {"fault": arm.fault, "began_ns": moments.began_ns, "ended_ns": moments.ended_ns, "broken": replay.broken}
    return replace(trial, fault=Fault(**facts, **asked))  # type: ignore[typeddict-item] # by their names


class _Moments:
    """Causes the fault, and records when it began and ended, in nanoseconds of the Unix epoch."""

    def __init__(self, system: Runtime, strike: Strike) -> None:
        self._system, self._strike = system, strike
        self.began_ns = self.ended_ns = 0

    def strike(self) -> None:
        """Waits and then strikes; must be called when the load begins."""
        self._wait(STRIKES_AFTER_S)
        self.began_ns = time.time_ns()
        self._strike(self._wait)
        self.ended_ns = time.time_ns()

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left_s := until - time.monotonic()) > 0:
            self._system.check()
            time.sleep(min(WATCH_S, left_s))


def _ask_again(
    system: Runtime, shopload: Shopload, rows: pl.DataFrame, tape: Tape, folder: Path, record: Path
) -> dict[str, float]:
    """Repeats failed purchases until each is answered, and writes the purchases for which customers got an answer."""
    failed, rounds, began = _find_failed(rows), [(folder, tape)], time.monotonic()
    repeated = len(failed)
    while failed and time.monotonic() - began < ANSWERED_WITHIN_S:
        out = folder / f"repeated-{len(rounds)}"
        out.mkdir()
        load = make_repetition(rounds[-1][1], failed, out / "tape.jsonl")
        process = shopload.start_replay(load, system.target, out, trace=0, quiet=True)
        try:
            shopload.finish_replay(process, load.duration_s)
        finally:
            stop(process)
        failed = _find_failed(read_rows(out / JOURNEYS))
        rounds.append((out, load.tape))
    checkouts = write_acknowledged([(where / JOURNEYS, sent.path) for where, sent in rounds], record)
    return {"repeated": repeated, "unanswered": len(failed), "checkouts": checkouts}


def _find_failed(rows: pl.DataFrame) -> set[int]:
    return set(rows.filter((pl.col("journey") == "checkout") & (pl.col("outcome") != "ok"))["seq"].to_list())


def _settle(system: Runtime) -> dict[str, float]:
    waited_s, left = wait_until_settled(system.database.admin_url_of(TRIAL_DATABASE))
    return {"settle_s": waited_s, "unsettled": left.total()}
