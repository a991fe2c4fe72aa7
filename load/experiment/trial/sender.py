"""Sends a load to a running system, from one generator on this machine or from several in the system's cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from experiment.generator.shopload import Load, Shopload, stop
from experiment.trial.resources import CLIENT, Resources, ResourceSampler
from mesh.components.postgres import Database
from mesh.description.switches import Switches
from mesh.runtime import Runtime

WATCH_S = 0.25


class Sender(Protocol):
    """Sends loads to a running system."""

    def warm_up(self, load: Load, out: Path) -> None:
        """Sends a load without tracing it or writing rows."""

    def replay(self, load: Load, out: Path) -> Resources:
        """Sends a load, and writes its rows and the generator's figures into a folder.

        Raises:
            ComponentDiedError: A component ended during the load.
            GeneratorError: The generator failed.
        """


class Loaded(Protocol):
    """A system as a generator on this machine sees it."""

    @property
    def target(self) -> Path:
        """File that describes the target for the load generator."""

    @property
    def switches(self) -> Switches:
        """The system's switches."""

    @property
    def database(self) -> Database | None:
        """The system's database server; None if unknown."""

    def pids(self) -> Mapping[str, list[int]]:
        """Returns the process ids of each component on this machine."""

    def check(self) -> None:
        """Checks that the system still runs."""


@dataclass(frozen=True, slots=True)
class LocalSender:
    """Sends loads from this machine.

    Attributes:
        meanwhile: Called once the load has begun.
        watch: Called again and again while the generator runs.
        helpers: Process ids of other parts of the generator, by name; their CPU time counts as the generator's.
    """

    system: Loaded
    shopload: Shopload
    meanwhile: Callable[[], None] = lambda: None
    watch: Callable[[], None] = lambda: None
    helpers: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def warm_up(self, load: Load, out: Path) -> None:
        self.shopload.warm_up(load, self.system.target, out)

    def replay(self, load: Load, out: Path) -> Resources:
        system, heads = self.system, dict(self.helpers)
        # The sampler starts first: its first look takes a moment, in which a short load could end on a busy machine.
        with ResourceSampler(lambda: {**system.pids(), **heads}) as sampler:
            process = self.shopload.start_replay(load, system.target, out, trace=system.switches.trace)
            heads[CLIENT] = [process.pid]
            try:
                load_over = time.monotonic() + load.duration_s
                self.meanwhile()
                while process.poll() is None and time.monotonic() < load_over:
                    system.check()
                    self.watch()
                    time.sleep(min(WATCH_S, max(0.0, load_over - time.monotonic())))
                self.shopload.finish_replay(process)
            finally:
                stop(process)  # the process still runs only if the user or a dead component ended the trial
        return sampler


def sender_of(system: Runtime, shopload: Shopload, meanwhile: Callable[[], None] = lambda: None) -> Sender:
    """Makes the sender for a system."""
    if not system.switches.in_cluster:
        return LocalSender(system, shopload, meanwhile)
    # Imported here because native runs do not need it.
    from experiment.trial.cluster_sender import ClusterSender
    from mesh.kubernetes.cluster.system import ClusterSystem

    if not isinstance(system, ClusterSystem):
        raise TypeError(f"runtime={system.switches.runtime} of a {type(system).__name__}")
    return ClusterSender(system, shopload, meanwhile)
