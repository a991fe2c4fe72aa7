"""Where a topology runs: on this machine, or in a cluster."""

from __future__ import annotations

import os

from mesh.components.shop_processes import Data
from mesh.description.ports import Ports
from mesh.description.switches import Switches
from mesh.description.topology import Topology
from mesh.native.system import System
from mesh.paths import kong


def system_of(topology: Topology, switches: Switches, ports: Ports, trial: str, *, data: Data | None = None) -> System:
    """The system of one trial, where its switches say. Use it in a `with` statement.

    Args:
        topology: Which components run, and which calls which.
        switches: The switches that it runs with.
        ports: Ports of the run on this machine.
        trial: Name of the trial; every span carries it.
        data: The data that the run begins with; by default, the switches' scale and seed 1.

    Raises:
        SwitchError: The topology cannot run with these switches.
        InputError: DATABASE_URL is not the URL of a PostgreSQL server.
    """
    if not switches.in_cluster:
        return System(topology, switches, ports, trial, data=data)
    # Imported here, as native runs do not need it.
    from mesh.kubernetes.cluster.system import ClusterSystem

    return ClusterSystem(topology, switches, ports, trial, data=data)


def require_runtime(switches: Switches) -> None:
    """Checks that what is to run with these switches can run where they say, before anything is made for it.

    Raises:
        MeshError: It cannot; the message has the reason and what to do.
    """
    if switches.in_cluster:
        from mesh.kubernetes.cluster.kubectl import Kubectl
        from mesh.kubernetes.cluster.preflight import require_usable

        require_usable(Kubectl.current(os.environ), switches)
    elif switches.edge == "kong":
        kong(os.environ)
