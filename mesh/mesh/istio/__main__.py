"""`python -m mesh.istio` checks, with Istio's own tools, the resources of every topology of the project."""

from __future__ import annotations

import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

from mesh.description.ports import load_ports
from mesh.description.switches import Switches
from mesh.description.topology import load_topology, names
from mesh.errors import MeshError
from mesh.istio.mesh import IstioMesh
from mesh.istio.resource import write_resources
from mesh.istio.validation import require_consistent, require_valid
from mesh.paths import RunFolder
from mesh.sidecars.workloads import workloads


def check(name: str, mtls: str, canary: int) -> None:
    """Checks the resources of one topology with some switches, including every kind of injected fault.

    Raises:
        MeshError: Istio refuses resources, or warns about them.
    """
    topology, ports = load_topology(name), load_ports({})
    called = topology.components[0]
    switches = Switches(mesh="istio", mtls=mtls, canary=canary, delay_ms={called: 2.0}, abort_share={called: 0.01})
    with tempfile.TemporaryDirectory() as path:
        folder = RunFolder(Path(path))
        mesh = IstioMesh(workloads(topology, ports, folder, canary=canary > 0), topology, ports, switches, folder)
        made = mesh.resources
        write_resources(made, mesh.file)
        require_valid(made, mesh.file, f"topology={name}")
        require_consistent(made, mesh.file, f"topology={name}")


def main() -> int:
    """Checks the resources of all topologies; returns the exit code."""
    runs = list(product(names(), ("off", "on"), (0, 10)))
    try:
        with ThreadPoolExecutor(max_workers=2) as checks:
            list(checks.map(lambda run: check(*run), runs))
    except MeshError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"Istio accepts the resources of {len(runs)} meshes.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
