"""`make soak`: topologies under load for long: whether anything grows that should not."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import polars as pl
import psutil
import psycopg

from experiment.arguments import number
from experiment.commands import in_steps, options
from experiment.commands.in_steps import PARITY_SAMPLES, Setup
from experiment.errors import UsageError
from experiment.generator.shopload import BINARY, Load, Shopload
from experiment.generator.tapes import parity_tape
from experiment.plan.arms_in_blocks import DATA_SEED
from experiment.progress import Progress
from experiment.progress import minutes as in_words
from experiment.results.folder import ResultsFolder
from experiment.results.manifest import manifest_of, now
from experiment.trial.outcome import JOURNEYS, Clock
from experiment.trial.replay import Replay
from experiment.trial.resources import memory_mb
from experiment.trial.run import ready
from experiment.trial.sender import LocalSender
from hops.gates.trial import evaluate
from hops.kinds.soak.document import Document, Held, Soaked
from hops.run.documents import SCHEMA
from hops.units import NS_PER_MS
from mesh.components.shop_processes import TRIAL_DATABASE, Data
from mesh.components.trial import as_it_runs
from mesh.description.options import Given, Json, takes_settings
from mesh.description.topology import Topology
from mesh.native.system import System
from mesh.runtime import Runtime

if TYPE_CHECKING:
    from hops.elements.element import Element
    from hops.gates.verdict import Doubt

KIND = "soak"
MAX_RATE = 10_000.0
SHORTEST_MIN, LONGEST_MIN = 1.0, 24 * 60.0
LOOKS, MOST_APART_S = 120, 30.0
"""Looks of a load at least, and the seconds between two of them at most."""
LOOK_S = 0.5
"""A look takes a moment of every component's kernel time: no two are nearer."""
WARM_S = 10.0
MINUTE_S = 60.0
COUNTS: tuple[Literal["descriptors", "threads", "connections"], ...] = ("descriptors", "threads", "connections")
PERCENTILES = {"p50": 0.5, "p99": 0.99}
START_S = 20.0
"""How long it takes until a system is there and warm."""


@takes_settings(KIND)
def command(
    *,
    topologies: str,
    minutes: str,
    rate: str | None,
    seed: str,
    workload: str,
    switches: Given,
    strict: str | None,
    as_json: Json = False,
) -> None:
    """The command `soak`; `commands.toml` has its help."""
    with options.reported_errors():
        setup = in_steps.setup_of(KIND, topologies, seed, workload, **switches)
        length, asked = number("minutes", minutes), number("rate", rate)
        if length is None or not SHORTEST_MIN <= length <= LONGEST_MIN:
            raise UsageError(f"minutes={minutes} is not valid: give {SHORTEST_MIN:g} to {LONGEST_MIN:g} minutes")
        if asked is None or not 0 < asked <= MAX_RATE:
            raise UsageError(f"rate={rate} is not valid: give journeys per second, up to {MAX_RATE:g}")

        def measure(folder: ResultsFolder) -> Document:
            return _all(setup, folder, length, asked, Progress())

        names = ", ".join(topology.name for topology in setup.topologies)
        expected_s = len(setup.topologies) * (START_S + MINUTE_S * length)
        said = f"Soak of {names}: {length:g} minutes of load on each; {in_words(expected_s)}."
        in_steps.end(KIND, measure, _shown, announcement=said, strict=strict, as_json=as_json)


def _shown(document: Document) -> tuple[list[Element], list[Doubt]]:
    from hops.kinds.soak.report import doubts, elements, gates

    return [*elements(document), *gates(document)], doubts(document)


def _all(setup: Setup, folder: ResultsFolder, length_min: float, rate: float, say: Progress) -> Document:
    by_name = {topology.name: topology for topology in setup.topologies}
    seeds = {"tape": setup.seed, "data": DATA_SEED}
    manifest = manifest_of(KIND, folder.final.name, by_name, setup.switches, setup.workload, seeds)
    shopload, tapes, began = Shopload(BINARY), folder.path / "tapes", now()
    tapes.mkdir()

    def load(name: str, seed: int, duration_s: float) -> Load:
        out, scale = tapes / f"{name}.jsonl", setup.switches.scale
        return Load(
            shopload.tape(setup.workload, out, seed=seed, rate=rate, duration_s=duration_s, scale=scale), duration_s
        )

    loads = load("warmup", setup.seed + 1, WARM_S), load("load", setup.seed, MINUTE_S * length_min)
    soaked = []
    for topology in setup.topologies:
        with say.within(topology.name):
            soaked.append(_soaked(topology, setup, shopload, loads, folder.path / topology.name, say))
    manifest |= {"began": began, "ended": now()}
    return Document(
        schema=SCHEMA, name=folder.final.name, manifest=manifest, minutes=length_min, rate=rate, soaked=soaked
    )


def _soaked(
    topology: Topology, setup: Setup, shopload: Shopload, loads: tuple[Load, Load], folder: Path, say: Progress
) -> Soaked:
    warmup, load = loads
    switches = as_it_runs(topology, setup.switches)
    system = System(topology, switches, setup.ports, KIND, data=Data(switches.scale, DATA_SEED))
    sample = parity_tape(
        shopload, load.tape.path.with_name("parity.jsonl"), PARITY_SAMPLES, seed=setup.seed, scale=switches.scale
    )
    clock = Clock()
    with ready(system, shopload, sample, warmup, folder, clock, say):
        say(f"replaying {load}")
        looks = Looks(system, load.duration_s)
        replay = Replay(system, shopload, load, folder, clock, sender=LocalSender(system, shopload, looks.take))
        replay.collect(folder / JOURNEYS, once_told=system.stop_serving)
        say(f"audit: {replay.audit_in_words}")
    journeys, evidence = replay.rows, replay.trial().evidence
    minutes_s, latency_ms = by_minute(journeys)
    return Soaked(
        topology=topology.name,
        journeys=journeys.height,
        failed=journeys.filter(pl.col("outcome") != "ok").height,
        broken=replay.broken,
        gates=evaluate(evidence),
        at_s=looks.at_s,
        held=looks.held,
        database_mb=looks.database_mb,
        minutes_s=minutes_s,
        latency_ms=latency_ms,
    )


class Looks:
    """Looks at what a system's components hold, at equal intervals.

    Args:
        system: The system.
        duration_s: Seconds of the load.

    Attributes:
        at_s: When each look was, in seconds of the load.
        held: What was seen at each, by component.
        database_mb: Size of the database at each, MiB.
    """

    def __init__(self, system: Runtime, duration_s: float) -> None:
        self._system, self._duration_s = system, duration_s
        self.at_s: list[float] = []
        self.held: dict[str, Held] = {}
        self.database_mb: list[float] = []

    def take(self) -> None:
        """Takes all looks of a load that has just begun, which its end ends."""
        apart_s, began = min(max(self._duration_s / LOOKS, LOOK_S), MOST_APART_S), time.monotonic()
        with psycopg.connect(
            self._system.database.admin_url_of(TRIAL_DATABASE), autocommit=True, connect_timeout=10
        ) as connection:
            while (at_s := time.monotonic() - began) < self._duration_s:
                self._system.check()
                self._look(at_s, connection)
                time.sleep(max(0.0, (len(self.at_s) * apart_s) - (time.monotonic() - began)))

    def _look(self, at_s: float, connection: psycopg.Connection) -> None:
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        heads = self._system.pids()
        memory = memory_mb(heads, shared=False)
        connections = Counter(one.pid for one in psutil.net_connections("inet"))
        self.at_s.append(at_s)
        self.database_mb.append(int(row[0]) / 2**20 if row else 0.0)
        for component, pids in heads.items():
            held = self.held.setdefault(component, Held(memory_mb=[], descriptors=[], threads=[], connections=[]))
            counted = [counts_of(pid, connections[pid]) for pid in pids]
            held["memory_mb"].append(memory[component])
            for name, counts in zip(COUNTS, zip(*counted, strict=True), strict=True):
                held[name].append(sum(counts))


def counts_of(pid: int, connections: int) -> tuple[int, int, int]:
    """How many descriptors, threads and connections over IP a process has; none of one that has just ended."""
    try:
        process = psutil.Process(pid)
        return process.num_fds(), process.num_threads(), connections
    except psutil.NoSuchProcess:
        return 0, 0, 0


def by_minute(journeys: pl.DataFrame) -> tuple[list[float], dict[str, list[float]]]:
    """The latency of journeys that ended ok, minute by minute.

    Args:
        journeys: Rows of `hops.run.rows.JOURNEYS`.

    Returns:
        The middle of each minute in seconds of the load, and each percentile of the latency in it, ms.
    """
    since = (pl.col("intended_ns") - pl.col("intended_ns").min()) // int(MINUTE_S * 1e9)
    minutes = (
        journeys.filter(pl.col("outcome") == "ok")
        .group_by(since.alias("minute"))
        .agg((pl.col("latency_ns").quantile(at) / NS_PER_MS).alias(name) for name, at in PERCENTILES.items())
        .sort("minute")
    )
    middles = [(minute + 0.5) * MINUTE_S for minute in minutes["minute"].to_list()]
    return middles, {name: minutes[name].to_list() for name in PERCENTILES}
