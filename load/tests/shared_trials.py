"""Finished trials that several experiments of one test session share."""

from __future__ import annotations

import fcntl
import hashlib
import pickle
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiment.blocks import RunTrial
from experiment.generator.shopload import Shopload
from experiment.generator.tapes import Tapes
from experiment.plan.arms_in_blocks import Arm, Plan
from experiment.trial.outcome import Trial
from experiment.trial.run import run_trial
from mesh.runtime import Runtime


@dataclass(frozen=True, slots=True)
class SharedTrials:
    """Runs each trial once in a session, and gives later experiments copies of its results.

    Two trials are the same if they have the same topology, switches, tapes, length and block. Do not share trials that
    damage their system.

    Attributes:
        folder: Folder of the finished trials, the same for all workers of the session.
        run_once: Runs a trial that is not shared yet.
    """

    folder: Path
    run_once: RunTrial = run_trial

    def run(
        self,
        system: Runtime,
        shopload: Shopload,
        tapes: Tapes,
        arm: Arm,
        plan: Plan,
        folder: Path,
        *,
        parity_in_full: bool = True,
        meanwhile: Callable[[], object] = lambda: None,
        **options: Any,
    ) -> Trial:
        """Runs or copies a trial; arguments are those of `run_trial`."""
        load = tapes.loads[arm.tape]
        parity = tapes.parity if parity_in_full else tapes.spot_check
        shas = load.warmup.sha256, load.load.sha256, parity.sha256
        block = system.trial.rpartition("/")[2].partition("-")[0]
        same = (arm.topology, arm.switches, shas, plan.sending(arm), arm.fault, arm.keeps_traces, arm.probe, block)
        kept = self.folder / hashlib.sha256(repr(same).encode()).hexdigest()
        outcome = kept / "outcome.pickle"
        kept.mkdir(parents=True, exist_ok=True)
        with locked(kept / "lock"):
            if not outcome.exists():
                options |= {"parity_in_full": parity_in_full, "meanwhile": meanwhile}
                trial = self.run_once(system, shopload, tapes, arm, plan, folder, **options)
                shutil.copytree(folder, kept / "files")
                outcome.write_bytes(pickle.dumps(trial))
                return trial
        shutil.copytree(kept / "files", folder)
        meanwhile()
        copied = pickle.loads(outcome.read_bytes())
        assert isinstance(copied, Trial)
        return copied


@contextmanager
def locked(file: Path) -> Iterator[None]:
    with file.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
