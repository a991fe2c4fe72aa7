"""Faults that only a cluster has: it takes pods away and makes others."""

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
"""How long a pod may take to leave, without a mesh and with one: its callers must have forgotten it before."""
STARTS_S = 60.0
"""How long the pods of a whole node may take to start again."""


def serving(topology: Topology, switches: Switches) -> list[str]:
    """The components that serve customers, which a cluster may take elsewhere."""
    return [*topology.components, *([EDGE] if switches.has_edge else [])]


def evicted(system: ClusterSystem, target: str) -> Prepared:
    """Evicts a pod of a component."""
    # Imported here, as native runs do not need it.
    from mesh.kubernetes.cluster.evictions import evict

    return nullcontext((system, lambda _: evict(system, target)))


def evicted_longer_s(_topology: Topology, switches: Switches, _target: str) -> float:
    """By how much a load must be longer to show the end of an eviction."""
    return MESHED_LEAVES_S if switches.meshed else LEAVES_S


def drained(system: ClusterSystem, _target: str) -> Prepared:
    """Drains the node that has most pods of the shop."""
    from mesh.kubernetes.cluster.evictions import drain

    return nullcontext((system, lambda _: drain(system, serving(system.topology, system.switches))))


def drained_longer_s(topology: Topology, switches: Switches, target: str) -> float:
    """By how much a load must be longer to show the end of a drain."""
    return evicted_longer_s(topology, switches, target) + STARTS_S


def lacks_right(*right: str) -> Callable[[], str]:
    """Says that the user of the current kubectl context lacks a right, if that is so.

    Args:
        right: Arguments of `kubectl auth can-i`.
    """

    def lacks() -> str:
        from mesh.kubernetes.cluster.kubectl import Kubectl

        kubectl = Kubectl.current(os.environ)
        what = " ".join(right).replace(" --subresource=", "/")
        return "" if kubectl.may(*right) else f"the right to {what} in the context {kubectl.context}"

    return lacks
