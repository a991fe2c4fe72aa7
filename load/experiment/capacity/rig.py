"""What `make sweep` and `make stress` share: systems that are started, checked, warmed, loaded in steps, stopped."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from experiment.capacity.step import ACKNOWLEDGED, Load, Step, cpu_seconds_used, run_step
from experiment.generator.shopload import BINARY, Shopload, Tape
from experiment.generator.tapes import parity_tape
from experiment.plan.plan import DATA_SEED
from experiment.progress import Progress
from experiment.results.folder import check_room, write_json
from experiment.trial.audit import audit, mark
from experiment.trial.trial import check_parity, keep_logs
from mesh.ports import Ports
from mesh.shop_processes import Data
from mesh.switches import Switches
from mesh.system import System
from mesh.topology import Topology

PARITY_SAMPLES = 3
#: Seeds of the steps' tapes lie so far apart that no two users' seeds share any of them.
SEEDS_PER_RUN = 1_000_000
#: After a step the shop may still work on journeys that were given up. It has come to rest when it uses less than so
#: many cores; what it has not done after so many seconds, it is not waited for.
REST_CORES = 0.25
REST_LIMIT_S = 12.0
REST_LOOK_S = 0.5
#: What one topology's steps may write at most.
NEEDED_BYTES = 512 << 20
LONGEST_LOG_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Setup:
    """What every system of a run is made of.

    Attributes:
        topologies: What runs, in this order.
        switches: How.
        workload: What arrives.
        seed: The tapes' seeds are derived from it.
        ports: Where everything listens.
        results: The folder of all results.
    """

    topologies: tuple[Topology, ...]
    switches: Switches
    workload: Path
    seed: int
    ports: Ports
    results: Path


class Bench:
    """Starts systems and loads them in steps, below one results folder.

    Args:
        setup: What every system is made of.
        folder: Of the results.
        trial: The run's name; the database is marked with it.
        say: Told what is going on.
        environ: `DATABASE_URL` and `JAEGER_BIN` are read from it.
    """

    def __init__(
        self,
        setup: Setup,
        folder: Path,
        trial: str,
        say: Progress,
        *,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._setup = setup
        self._folder = folder
        self._trial = trial
        self._environ = environ
        self._shopload = Shopload(BINARY)
        self._parity: Tape | None = None
        self.say = say

    def tape(self, topology: str, name: str, *, number: int, rate: float, duration_s: float) -> Tape:
        """Makes a step's own tape. Its seed depends on the step alone, so that all topologies get the same.

        Args:
            topology: Whose step it is.
            name: Of the step.
            number: Of the step; 0 for a warm-up.
            rate: Journeys a second, in the mean.
            duration_s: Seconds.
        """
        folder = self._folder / "tapes" / topology
        folder.mkdir(parents=True, exist_ok=True)
        seed = self._setup.seed * SEEDS_PER_RUN % 2**52 + number
        return self._shopload.tape(
            self._setup.workload,
            folder / f"{name}.jsonl",
            seed=seed,
            rate=rate,
            duration_s=duration_s,
            scale=self._setup.switches.scale,
        )

    @contextmanager
    def started(self, topology: Topology, name: str, *, warm_rate: float, warm_s: float) -> Iterator[System]:
        """A system with fresh data whose answers are right, and which is warm. It is stopped after the block.

        Args:
            topology: What runs.
            name: Of the folder for its files, below `steps`.
            warm_rate: Journeys a second of the warm-up.
            warm_s: Seconds of it.

        Raises:
            ParityError: Its answers are not the data's.
            MeshError: A component did not start, or died.
        """
        check_room(self._folder, NEEDED_BYTES)
        setup = self._setup
        folder = self._folder / "steps" / name
        folder.mkdir(parents=True)
        system = System(
            topology,
            setup.switches,
            setup.ports,
            self._trial,
            data=Data(setup.switches.scale, DATA_SEED),
            environ=self._environ,
        )
        warmup = self.tape(topology.name, "warmup", number=0, rate=warm_rate, duration_s=warm_s)
        self.say("starting, on fresh data")
        try:
            with system:
                mark(system.database.admin_url, system.database_name, system.trial)
                check_parity(system, self._shopload, self._parity_tape(), folder)
                self._shopload.warm_up(warmup, system.target, folder / "warmup", duration_s=warm_s)
                yield system
        finally:
            keep_logs(system, folder)
            _cut_logs(folder / "logs")

    def step(self, system: System, name: str, folder: str, load: Load) -> Step:
        """Runs one step and waits until the shop has come to rest."""
        step = run_step(system, self._shopload, load, self._folder / "steps" / name / folder)
        load.tape.path.unlink()  # its seed makes it again
        self._rest(system)
        return step

    def audit(self, system: System, name: str) -> list[str]:
        """The promises about the shop's data that do not hold after all steps on a system.

        Raises:
            MeshError: The audit could not be done.
        """
        folder = self._folder / "steps" / name
        acknowledged = folder / ACKNOWLEDGED
        acknowledged.touch()
        findings = audit(system.database.admin_url, system.database_name, acknowledged)
        write_json(folder / "audit.json", findings)
        return [finding["promise"] for finding in findings["invariants"] if not finding["ok"]]

    def _parity_tape(self) -> Tape:
        if self._parity is None:
            path = self._folder / "tapes" / "parity.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            self._parity = parity_tape(
                self._shopload, path, PARITY_SAMPLES, seed=self._setup.seed, scale=self._setup.switches.scale
            )
        return self._parity

    def _rest(self, system: System) -> None:
        until = time.monotonic() + REST_LIMIT_S
        used = cpu_seconds_used(system)
        while time.monotonic() < until:
            time.sleep(REST_LOOK_S)
            system.check()
            before, used = used, cpu_seconds_used(system)
            if used - before < REST_CORES * REST_LOOK_S:
                return


def _cut_logs(folder: Path) -> None:
    # An overload makes tens of megabytes of them; the last lines tell how it ended.
    for log in folder.iterdir():
        size = log.stat().st_size
        if size > LONGEST_LOG_BYTES:
            with log.open("rb") as file:
                file.seek(size - LONGEST_LOG_BYTES)
                file.readline()
                end = file.read()
            log.write_bytes(end)
