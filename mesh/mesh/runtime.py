"""The interface through which trials run a topology, natively or in a cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from mesh.components.jaeger import SpanCounts
from mesh.components.postgres import Database
from mesh.components.shop_processes import Data
from mesh.components.telemetry_files import CacheCounts, SpanAccount
from mesh.description.ports import Ports
from mesh.description.switches import Switches
from mesh.description.topology import Topology
from mesh.native.system import System
from mesh.paths import kong
from mesh.sidecars.stats import SidecarFacts


class Runtime(AbstractContextManager["Runtime"], Protocol):
    """The system of one trial, natively or in a cluster; it runs inside a `with` statement. Its ports, and the address
    of its database server, are those on this machine; every span carries the trial's name."""

    topology: Topology
    switches: Switches
    ports: Ports
    trial: str
    database: Database

    @property
    def target(self) -> Path:
        """File that names the load generator's target, for a generator on this machine."""

    @property
    def in_words(self) -> str:
        """List of the started parts, for people."""

    @property
    def logs(self) -> Path:
        """The folder of the components' logs."""

    @property
    def edge_log(self) -> Path | None:
        """The edge's access log, complete once the edge has stopped; None without an edge."""

    def check(self) -> None:
        """Checks that every component still runs and that nobody has asked to stop.

        Raises:
            ComponentDiedError: A component has ended; the message names it and says why.
            Interrupted: The user has asked to stop.
        """

    def pids(self) -> Mapping[str, list[int]]:
        """The processes of each component on this machine."""

    def span_counts(self) -> SpanCounts:
        """Counts of the spans that have reached Jaeger since it started."""

    def span_accounts(self) -> Mapping[str, SpanAccount]:
        """The latest span accounts of the shop's processes, by name; empty where they are not available."""

    def cache_counts(self, began_s: float, ended_s: float) -> Mapping[str, CacheCounts]:
        """Counts of the cache requests that the shop's ended processes made within a period, by component."""

    def edge_cache_counts(self) -> Mapping[str, int]:
        """Counters of the shared cache in front of the edge since its start; empty without such a cache."""

    def sidecar_facts(self) -> SidecarFacts | None:
        """The current state of the sidecars; None without a mesh."""

    def node_of(self, component: str) -> str:
        """The cluster node that a component runs on; empty on this machine, or if the component runs on several
        nodes."""

    def stop_serving(self) -> None:
        """Stops the components that serve customers, so that they send their last spans; the trace store and the
        database keep running."""


def system_of(topology: Topology, switches: Switches, ports: Ports, trial: str, *, data: Data | None = None) -> Runtime:
    """The system of one trial, in the runtime of its switches. Use it in a `with` statement.

    Raises:
        SwitchError: The topology cannot run with these switches.
        InputError: DATABASE_URL is not the URL of a PostgreSQL server.
    """
    if not switches.in_cluster:
        return System(topology, switches, ports, trial, data=data)
    # Imported here, because native runs do not need it.
    from mesh.kubernetes.cluster.system import ClusterSystem

    return ClusterSystem(topology, switches, ports, trial, data=data)


def require_runtime(switches: Switches) -> None:
    """Checks that the runtime of these switches can be used, before anything is created in it.

    Raises:
        MeshError: The runtime cannot be used; the message has the reason and what to do.
    """
    if switches.in_cluster:
        from mesh.kubernetes.cluster.kubectl import Kubectl
        from mesh.kubernetes.cluster.preflight import require_usable

        require_usable(Kubectl.current(os.environ), switches)
    elif switches.edge == "kong":
        kong(os.environ)
