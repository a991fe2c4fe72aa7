"""Faults that only a cluster can have: the cluster removes pods and starts new ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING

from experiment.faults.strike import Prepared
from mesh.description.switches import Switches
from mesh.description.topology import EDGE, Topology

if TYPE_CHECKING:
    from mesh.kubernetes.cluster.system import ClusterSystem

LEAVES_S, MESHED_LEAVES_S = 60.0, 30.0
"""How long a pod may take to stop, without and with a mesh; before it stops, its callers must drop it."""
STARTS_S = 60.0
"""How long the pods of a whole node may take to start again."""


def serving(topology: Topology, switches: Switches) -> list[str]:
    """Returns the components that serve customers; a cluster may move their pods."""
    return [*topology.components, *([EDGE] if switches.has_edge else [])]


def prepare_eviction(system: ClusterSystem, target: str) -> Prepared:
    """Prepares the eviction of a component's pod."""
    # Imported here because native runs do not need it.
    from mesh.kubernetes.cluster.evictions import evict

    return nullcontext((system, lambda _: evict(system, target)))


def eviction_longer_s(_topology: Topology, switches: Switches, _target: str) -> float:
    """Returns by how many seconds a load must be longer so that an eviction ends during the load."""
    return MESHED_LEAVES_S if switches.meshed else LEAVES_S


def prepare_drain(system: ClusterSystem, _target: str) -> Prepared:
    """Prepares a drain of the node that has most of the shop's pods."""
    from mesh.kubernetes.cluster.evictions import drain

    return nullcontext((system, lambda _: drain(system, serving(system.topology, system.switches))))


def drain_longer_s(topology: Topology, switches: Switches, target: str) -> float:
    """Returns by how many seconds a load must be longer so that a drain ends during the load."""
    return eviction_longer_s(topology, switches, target) + STARTS_S


def lacks_right(*right: str) -> Callable[[], str]:
    """Makes a check that returns the name of a permission if the current kubectl context lacks the permission."""

    def lacks() -> str:
        from mesh.kubernetes.cluster.kubectl import Kubectl

        kubectl = Kubectl.current(os.environ)
        what = " ".join(right).replace(" --subresource=", "/")
        return "" if kubectl.may(*right) else f"permission to {what} in the context {kubectl.context}"

    return lacks
