"""Runs an arm's probe during a trial, and makes rows from the probe's observations."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import polars as pl
import psutil
import psycopg

from experiment.errors import GeneratorError
from experiment.generator.shopload import Load, Shopload
from experiment.plan.probes import SETTLE_S, Holding, Looking, Probe, Watching
from experiment.trial.outcome import Clock
from experiment.trial.resources import memory_mb
from experiment.trial.sender import Loaded, LocalSender, Sender
from experiment.trial.updates import positions, read_updates
from hops.analysis.cost import WATCHERS
from hops.kinds.connections.memory import STEADY_LOOKS, is_steady
from hops.run.rows import LOOKS
from mesh.components.shop_processes import TRIAL_DATABASE
from mesh.runtime import Runtime

LOOK_S, MAX_HOLD_S = 1.0, 20.0
"""Seconds between two samples while a number of connections is open, and the maximum seconds to hold them open."""
DATABASE_SIZE = "SELECT pg_database_size(current_database())"


@dataclass(slots=True)
class Observation:
    """What a probe adds to a trial.

    Attributes:
        sender: Sends the load; None for the usual sender.
        account: The generator's account of the probe, in addition to its account of the load.
    """

    sender: Sender | None = None
    rows: dict[str, pl.DataFrame] = field(default_factory=dict)
    account: dict[str, Any] = field(default_factory=dict)


@contextmanager
def observe(
    probe: Probe | None,
    system: Loaded,
    shopload: Shopload,
    load: Load,
    folder: Path,
    clock: Clock,
    say: Callable[[str], None],
) -> Iterator[Observation]:
    """Runs a probe around a load that the block sends; the rows are complete after the block.

    Raises:
        ComponentDiedError: A component ended.
        GeneratorError: The connections could not be opened.
    """
    observed = Observation()
    match probe:
        case None:
            yield observed
        case Looking(every_s):
            with _looks(system) as looks:
                observed.sender = LocalSender(system, shopload, watch=lambda: looks.take_if_due(every_s))
                yield observed
            observed.rows["looks"] = looks.rows
        case Holding(counts):
            with _looks(system) as looks:
                for count in counts:
                    with shopload.hold(load.tape, system.target, count) if count else nullcontext():
                        held_mb = looks.take_until_steady(count)
                    say(f"{count} connections: {held_mb:.0f} MiB in all components")
            observed.rows["looks"] = looks.rows
            clock.lap("holding")
            yield observed
        case Watching(way, watchers, interval_s, channel):
            shop = cast("Runtime", system)  # only the shop has updates
            out, seconds = folder / WATCHERS, load.duration_s + probe.settle_s + SETTLE_S
            before = positions(shop)
            with shopload.watch(load.tape, system.target, out, watchers, way, interval_s, seconds, channel) as process:
                observed.sender = LocalSender(system, shopload, helpers={WATCHERS: [process.pid]})
                yield observed
                if process.wait(timeout=seconds + 10 * SETTLE_S) != 0:
                    raise GeneratorError(f"the watchers ended with exit code {process.returncode}; see their message")
            observed.rows, observed.account = read_updates(shop, out, before)
            clock.lap("watching")


class Looks:
    """Samples the resources that the components of a system have in use; without a database, its size counts as 0."""

    def __init__(self, system: Loaded, database: psycopg.Connection | None) -> None:
        self._system, self._database = system, database
        self._began = time.monotonic()
        self._taken = 0
        self._rows: list[tuple[object, ...]] = []

    @property
    def rows(self) -> pl.DataFrame:
        """A row for each component and sample (`hops.run.rows.LOOKS`)."""
        return pl.DataFrame(self._rows, schema=LOOKS, orient="row")

    def take_if_due(self, every_s: float) -> None:
        """Takes the next of the samples at equal intervals if it is due; the first call begins the intervals."""
        if not self._taken:
            self._began = time.monotonic()
        if time.monotonic() - self._began >= self._taken * every_s:
            self.take(0)
            self._taken += 1

    def take_until_steady(self, held: int) -> float:
        """Samples until the memory of all components is steady, or for `MAX_HOLD_S`; returns that memory in MiB."""
        totals_mb, until = [self.take(held)], time.monotonic() + MAX_HOLD_S
        while not is_steady(totals_mb) and time.monotonic() < until:
            time.sleep(LOOK_S)
            totals_mb = [*totals_mb[-STEADY_LOOKS:], self.take(held)]
        return totals_mb[-1]

    def take(self, held: int) -> float:
        """Takes a sample; returns the memory of all components, MiB."""
        self._system.check()
        at_s, heads = time.monotonic() - self._began, self._system.pids()
        size = self._database.execute(DATABASE_SIZE).fetchone() if self._database else None
        size_mb = int(size[0]) / 2**20 if size else 0.0
        memory = memory_mb(heads, shared=False)
        connections = Counter(one.pid for one in psutil.net_connections("inet"))
        for component, pids in heads.items():
            counts = [sum(of) for of in zip(*(counts_of(pid, connections[pid]) for pid in pids), strict=True)]
            self._rows.append((at_s, held, component, memory[component], *counts, size_mb))
        return sum(memory.values())


@contextmanager
def _looks(system: Loaded) -> Iterator[Looks]:
    if system.database is None:
        yield Looks(system, None)
        return
    url = system.database.admin_url_of(TRIAL_DATABASE)
    with psycopg.connect(url, autocommit=True, connect_timeout=10) as database:
        yield Looks(system, database)


def counts_of(pid: int, connections: int) -> tuple[int, int, int]:
    """Counts the descriptors, threads and IP connections of a process; all are 0 for a process that has just ended."""
    try:
        process = psutil.Process(pid)
        return process.num_fds(), process.num_threads(), connections
    except psutil.NoSuchProcess:
        return 0, 0, 0
