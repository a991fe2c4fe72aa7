"""Runs one trial: a fresh system, the parity check, the warm-up, and the replay of a tape."""

from __future__ import annotations

import importlib
import shutil
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg

from experiment.errors import DatabaseFailedError
from experiment.generator.shopload import Load, Shopload, Tape
from experiment.generator.tapes import Tapes
from experiment.parity.answers import check_answers
from experiment.parity.under_load import reference_digests
from experiment.plan.arms_in_blocks import Arm, Plan
from experiment.trial.audit import mark
from experiment.trial.outcome import JOURNEYS, PARITY, Clock, Trial
from experiment.trial.sender import sender_of
from mesh.components.shop_processes import TRIAL_DATABASE
from mesh.resting import wait_for_rest
from mesh.runtime import Runtime

MAX_COMPARED = 10_000
"""Under overload, or with a probe, answers are compared with the data only if the load has at most this many journeys,
because comparing them is slow."""
REST_CORES, MAX_REST_S = 0.25, 12.0
"""A shop has come to rest when it uses fewer cores than `REST_CORES`; the wait for that ends after `MAX_REST_S`."""
MAX_LOG_BYTES = 16 << 20
Say = Callable[[str], None]
"""Reports the trial's progress to the user."""


def run_trial(
    system: Runtime,
    shopload: Shopload,
    tapes: Tapes,
    arm: Arm,
    plan: Plan,
    folder: Path,
    *,
    say: Say,
    parity_in_full: bool = True,
    meanwhile: Callable[[], object] = lambda: None,
) -> Trial:
    """Runs one trial: starts a system, and stops it afterwards.

    Args:
        system: The system to start; its database is a fresh copy.
        folder: Folder for the generator's files and the components' logs.
        parity_in_full: Whether to send the whole parity sample before the load, instead of a spot check.
        meanwhile: Work that this process does during the warm-up; it ends before the load begins.

    Raises:
        ParityError: The system's answers do not match the data.
        MeshError: A component did not start, or died.
        DatabaseFailedError: The database ended, or refused a statement.
        GeneratorError: The generator failed.
        HopsError: The traces could not be read.
    """

    def prepare() -> None:
        importlib.import_module("experiment.trial.replay")
        meanwhile()

    clock = Clock()
    sample = tapes.parity if parity_in_full else tapes.spot_check
    sending = plan.sending(arm)
    warmup, load = loads_of(tapes, plan, arm)
    compared = not (sending.overload or arm.probe) or load.tape.journeys <= MAX_COMPARED
    with ready(system, shopload, sample, warmup, folder, clock, say, prepare, plan.may_differ):
        # Not imported at the top, so that the system's start does not wait for these imports.
        from experiment.trial.probes import observe
        from experiment.trial.replay import Replay

        reference = reference_digests(system, load.tape, plan.may_differ, say) if compared else None
        with observe(arm.probe, system, shopload, load, folder, clock, say) as observed:
            say(f"replaying {load}")
            replay = Replay(system, shopload, load, folder, clock, reference, observed.sender)
        if sending.overload:  # the shop may still be working on abandoned journeys
            wait_for_rest(system, REST_CORES, MAX_REST_S)
            clock.lap("rest")
        say(f"reading {len(replay.sampled)} traces from Jaeger")
        replay.collect(folder / JOURNEYS, release_services=system.stop_serving, keep_traces=arm.keeps_traces)
        say(f"audit: {replay.audit_in_words}")
    clock.lap("stop")
    trial = replay.trial(overload=sending.overload, edge_log=system.edge_log)
    return replace(trial, observed=observed.rows, generator={**trial.generator, **observed.account})


def loads_of(tapes: Tapes, plan: Plan, arm: Arm) -> tuple[Load, Load]:
    """Returns the warm-up and the counted load of an arm."""
    of_arm, sending = tapes.loads[arm.tape], plan.sending(arm)
    warmup = Load(of_arm.warmup, sending.warmup_s, sending.closed if sending.warm_rate is None else None)
    return warmup, Load(of_arm.load, sending.duration_s, sending.closed, sending.connections, sending.steps)


@contextmanager
def ready(
    system: Runtime,
    shopload: Shopload,
    parity: Tape,
    warmup: Load,
    folder: Path,
    clock: Clock,
    say: Say,
    meanwhile: Callable[[], object] = lambda: None,
    may_differ: Collection[str] = (),
) -> Iterator[None]:
    """Starts a system on fresh data, checks its answers, and warms it up.

    After the block, the system is stopped and its logs are in the folder.

    Args:
        folder: Folder to make for the generator's files and the components' logs.
        meanwhile: Work during the warm-up, as for `run_trial`.

    Raises:
        ParityError: The system's answers do not match the data.
        MeshError: A component did not start, or died.
        DatabaseFailedError: The database ended, or refused a statement.
    """
    folder.mkdir(parents=True)
    say(f"starting {system.topology.name}: {system.in_words}")
    try:
        with system:
            mark(system.database.admin_url, TRIAL_DATABASE, system.trial)
            clock.lap("start")
            compared = check_answers(system, shopload, parity, folder / PARITY, may_differ)
            say(f"parity holds: {len(compared)} answers match the data")
            clock.lap("parity")
            say(f"warming up for {warmup.duration_s:g} s, not counted")
            with run_meanwhile(meanwhile):
                sender_of(system, shopload).warm_up(warmup, folder / "warmup")
            clock.lap("warmup")
            yield
    except psycopg.Error as error:
        raise DatabaseFailedError(
            f"the database of this trial ended, or refused a statement: {str(error).strip()}. "
            f"The database's log, if it runs on this machine, is in {folder / 'logs'}"
        ) from error
    finally:
        _keep_logs(system, folder)


@contextmanager
def run_meanwhile(work: Callable[[], object]) -> Iterator[None]:
    """Does work in a thread while the block runs; the block ends only after the work."""
    thread = threading.Thread(target=work, name="meanwhile")
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _keep_logs(system: Runtime, folder: Path) -> None:
    logs = folder / "logs"
    logs.mkdir(mode=0o700, parents=True, exist_ok=True)  # for the same user only, like the run's logs
    for log in (*system.logs.glob("*.log"), *system.logs.glob("*.jsonl")):
        if size := log.stat().st_size:
            with log.open("rb") as whole, (logs / log.name).open("wb") as kept:
                if size > MAX_LOG_BYTES:  # an overload logs much more; the last lines show how it ended
                    whole.seek(size - MAX_LOG_BYTES)
                    whole.readline()
                shutil.copyfileobj(whole, kept)
