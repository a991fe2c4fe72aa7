"""What `make sweep` and `make stress` share: systems that are started, checked, warmed, loaded in steps, stopped."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from experiment.capacity.recorder import Recorder
from experiment.capacity.search import NO_RESULT, SearchResult
from experiment.capacity.step import StepPlan, step_of
from experiment.generator.shopload import BINARY, Load, Shopload, Tape
from experiment.generator.tapes import parity_tape
from experiment.plan.arms_in_blocks import DATA_SEED
from experiment.plan.workload import in_stairs
from experiment.progress import Progress, minutes
from experiment.results.folder import check_room
from experiment.trial.outcome import JOURNEYS, VEGETA, Clock
from experiment.trial.record import record_of, write_rows
from experiment.trial.replay import Replay
from experiment.trial.run import ready
from hops.errors import HopsError
from hops.kinds.capacity.document import Step, TopologyResult, by_load
from mesh.components.shop_processes import Data
from mesh.components.trial import as_it_runs
from mesh.description.ports import Ports
from mesh.description.switches import Switches
from mesh.description.topology import Topology
from mesh.errors import AlreadyRunningError, InputError, MeshError, NotInstalledError
from mesh.native.system import System
from mesh.resting import wait_for_rest
from mesh.runtime import Runtime

PARITY_SAMPLES = 3
SEEDS_PER_RUN = 1_000_000
"""Seeds of the steps' tapes lie so far apart that no two users' seeds share any of them."""
REST_CORES = 0.25
REST_LIMIT_S = 12.0
"""After a step the shop may still work on journeys that were given up. It has come to rest when it uses less than so
many cores; what it has not done after so many seconds, it is not waited for."""
NEEDED_BYTES = 512 << 20
"""What one topology's steps may write at most."""
LONGEST_LOG_BYTES = 1 << 20
ACKNOWLEDGED = "acknowledged.jsonl"
"""Checkouts that clients saw succeed, of all steps on one database: what the audit must find there."""


TimeLeft = Callable[[], str]
"""Says how long the rest of a run takes."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What every system of a run is made of.

    Attributes:
        topologies: The topologies to measure, in this order.
        switches: The switches that they run with.
        workload: File of the workload.
        seed: Seed that the tapes' seeds are derived from.
        ports: Where everything listens.
    """

    topologies: tuple[Topology, ...]
    switches: Switches
    workload: Path
    seed: int
    ports: Ports


class Rig:
    """Starts systems and loads them in steps, below one results folder.

    Args:
        setup: What every system is made of.
        folder: The results folder.
        recorder: Gets every step and result.
        say: Told what is going on.
    """

    def __init__(self, setup: Setup, folder: Path, recorder: Recorder, say: Progress) -> None:
        self.setup = setup
        self.recorder = recorder
        self.say = say
        self._folder = folder
        self._shopload = Shopload(BINARY)
        (folder / "tapes").mkdir()
        self._parity = parity_tape(
            self._shopload,
            folder / "tapes" / "parity.jsonl",
            PARITY_SAMPLES,
            seed=setup.seed,
            scale=setup.switches.scale,
            workload=setup.workload,
            payload=setup.switches.payload,
        )

    def each_topology(self, expected_s: float, measure: Callable[[Topology, TimeLeft], SearchResult]) -> None:
        """Measures one topology after the other; what is finished is on disk at any time.

        A topology that cannot go on (a component died, an answer was wrong, traces could not be read) is noted with the
        reason, and the next one begins: in an overload that is a finding. What stands in the way of all is none.

        Args:
            expected_s: Seconds that one topology should take; later ones are expected to take as long as those before.
            measure: Measures a topology; gets a function that says how long the rest of the run takes.

        Raises:
            MeshError: Something that a user gave is wrong, a program is missing, or another run holds the ports.
        """
        began = time.monotonic()
        for finished, topology in enumerate(self.setup.topologies):
            each_s = (time.monotonic() - began) / finished if finished else expected_s
            to_come = len(self.setup.topologies) - finished - 1
            left = partial(_time_left, time.monotonic() + each_s, to_come * each_s)
            with self.say.within(topology.name):
                searched, stopped = NO_RESULT, None
                try:
                    searched = measure(topology, left)
                except (InputError, NotInstalledError, AlreadyRunningError):
                    raise
                except (MeshError, HopsError) as error:
                    stopped = str(error).splitlines()[0]
                    self.say(f"stopped: {error}")
                result = TopologyResult(
                    rate=searched.rate,
                    failed=searched.failed,
                    limit=searched.limit,
                    tried=list(searched.tried),
                    stopped=stopped,
                )
                self.recorder.result(topology.name, result)

    @contextmanager
    def started(self, topology: Topology, name: str, *, warm_rate: float, warm_s: float) -> Iterator[Runtime]:
        """A system with fresh data whose answers are right, and which is warm. It is stopped after the block.

        Args:
            topology: The topology to start.
            name: Name of the folder for its files, below `steps`.
            warm_rate: Journeys a second of the warm-up.
            warm_s: Seconds of the warm-up.

        Raises:
            ParityError: Its answers are not the data's.
            MeshError: A component did not start, or died.
        """
        check_room(self._folder, NEEDED_BYTES)
        setup, folder = self.setup, self._folder / "steps" / name
        data = Data(setup.switches.scale, DATA_SEED)
        system = System(
            topology, as_it_runs(topology, setup.switches), setup.ports, self.recorder.document["name"], data=data
        )
        warmup = Load(self._tape(topology.name, "warmup", number=0, rate=warm_rate, duration_s=warm_s), warm_s)
        try:
            with ready(system, self._shopload, self._parity, warmup, folder, Clock(), self.say):
                yield system
        finally:
            _cut_logs(folder / "logs")

    def step(self, system: Runtime, name: str, plan: StepPlan) -> Step:
        """Runs one step, and waits until the shop has come to rest.

        Args:
            system: A system that runs already, and is warm.
            name: Name of the system's folder.
            plan: What is sent.

        Returns:
            The step, not judged and not recorded yet.

        Raises:
            ComponentDiedError: A component ended during the load.
            MeshError: The generator failed, or the audit failed.
            HopsError: The traces could not be read.
        """
        topology, began, clock = system.topology.name, datetime.now(UTC), Clock()
        number = 1 + len(by_load(self.recorder.document, topology))
        label = f"{number:02d}-{plan.name}"
        folder = self._folder / "steps" / name / label
        folder.mkdir()
        tape = self._tape(topology, label, number=number, rate=plan.rate, duration_s=plan.duration_s, steps=plan.steps)
        load = Load(tape, plan.duration_s, plan.closed, plan.connections)
        replay = Replay(system, self._shopload, load, folder, clock)
        wait_for_rest(system, REST_CORES, REST_LIMIT_S)
        clock.lap("rest")
        acknowledged = folder.parent / ACKNOWLEDGED
        _keep_acknowledged(folder / JOURNEYS, acknowledged)
        replay.collect(acknowledged)
        trial = replay.trial(overload=plan.phase in ("stress", "overload"))
        write_rows(trial, folder, 1, topology)
        # The parquet file holds the same rows in a tenth of the space, and the seed makes the tape again.
        for spent in (folder / JOURNEYS, folder / VEGETA, tape.path):
            spent.unlink(missing_ok=True)
        commit = self.recorder.document["manifest"]["git"]["commit"]
        record = record_of(trial, block=1, topology=topology, position=number, attempt=1, began=began, commit=commit)
        objective_ms = self.recorder.document["options"].get("objective_ms", 0.0)
        return step_of(plan, trial, record, replay.broken, objective_ms)

    def _tape(
        self,
        topology: str,
        name: str,
        *,
        number: int,
        rate: float,
        duration_s: float,
        steps: tuple[float, ...] = (),
    ) -> Tape:
        # The seed depends on the step alone, so that all topologies get the same tapes.
        folder = self._folder / "tapes" / topology
        folder.mkdir(parents=True, exist_ok=True)
        workload = self.setup.workload
        if steps:
            workload = folder / f"{name}.yaml"
            workload.write_text(json.dumps(in_stairs(self.setup.workload, steps)), encoding="utf-8")
        return self._shopload.tape(
            workload,
            folder / f"{name}.jsonl",
            seed=self.setup.seed * SEEDS_PER_RUN % 2**52 + number,
            rate=rate,
            duration_s=duration_s,
            scale=self.setup.switches.scale,
            payload=self.setup.switches.payload,
        )


def _time_left(ends: float, later_s: float) -> str:
    left_s = max(0.0, ends - time.monotonic()) + later_s
    return f"{minutes(left_s)} left" if left_s else "nearly done"


def _keep_acknowledged(rows: Path, kept: Path) -> None:
    with rows.open(encoding="utf-8") as lines, kept.open("a", encoding="utf-8") as out:
        for line in lines:
            # Cheap first: of many thousands of rows few are checkouts.
            if '"checkout"' in line and (row := json.loads(line))["journey"] == "checkout" and row["outcome"] == "ok":
                out.write(line)


def _cut_logs(folder: Path) -> None:
    # An overload makes tens of megabytes of them; the last lines tell how it ended.
    for log in folder.glob("*"):
        size = log.stat().st_size
        if size > LONGEST_LOG_BYTES:
            with log.open("rb") as file:
                file.seek(size - LONGEST_LOG_BYTES)
                file.readline()
                end = file.read()
            log.write_bytes(end)
