"""The certificate of a sidecar expires, which starts again with it, and later with a new one."""

from __future__ import annotations

import os
from collections.abc import Sequence

from experiment.errors import UsageError
from experiment.faults.strike import LASTS_S, Wait
from mesh.description.switches import Switches
from mesh.description.topology import EDGE, Topology
from mesh.native.system import System
from mesh.sidecars.certificates import VARIABLE, WORKLOAD_DAYS, Authority, issue

AGO_DAYS = -1 / (24 * 60)
"""An expired certificate ended a minute ago."""


def holders(topology: Topology, switches: Switches) -> Sequence[str]:
    """The sidecars that prove who they are with certificates which nobody renews; Istio's agent renews its own."""
    if not switches.encrypted or switches.mesh != "envoy":
        return []
    return [f"{name}-sidecar" for name in (*topology.components, EDGE)]


def expire(system: System, target: str, wait: Wait) -> None:
    """Lets a sidecar's certificate expire, and renews it.

    Raises:
        UsageError: The mesh's authority is the user's.
    """
    if os.environ.get(VARIABLE):
        raise UsageError(f"faults=expire: the authority that {VARIABLE} names is not asked for expired certificates")
    workload = next(one for one in system.workloads if one.sidecar == target)
    mesh = system.folder.keys

    def renewed(days: float) -> None:
        issue(Authority(mesh / "mesh-ca"), [workload.identity], mesh / "mesh" / workload.name, days=days)
        system.restart(target)

    try:
        renewed(AGO_DAYS)
        wait(LASTS_S)
    finally:
        renewed(WORKLOAD_DAYS)
