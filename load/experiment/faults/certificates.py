"""The fault `expire`: a sidecar restarts with an expired certificate, and later with a new one."""

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
"""An expired certificate's validity ended a minute ago."""


def holders(topology: Topology, switches: Switches) -> Sequence[str]:
    """Returns the sidecars whose certificates are not renewed automatically; Istio's agent renews its certificate."""
    if not switches.encrypted or switches.mesh != "envoy":
        return []
    return [f"{name}-sidecar" for name in (*topology.components, EDGE)]


def expire(system: System, target: str, wait: Wait) -> None:
    """Gives a sidecar an expired certificate, and later a new one.

    Raises:
        UsageError: The mesh uses a certificate authority that the user provides.
    """
    if os.environ.get(VARIABLE):
        raise UsageError(f"faults=expire needs the mesh's own certificate authority; unset {VARIABLE}")
    workload = next(one for one in system.workloads if one.sidecar == target)
    mesh = system.folder.keys

    def renew(days: float) -> None:
        issue(Authority(mesh / "mesh-ca"), [workload.identity], mesh / "mesh" / workload.name, days=days)
        system.restart(target)

    try:
        renew(AGO_DAYS)
        wait(LASTS_S)
    finally:
        renew(WORKLOAD_DAYS)
