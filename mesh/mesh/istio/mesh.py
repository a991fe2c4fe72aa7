"""A mesh that istiod configures: its components, and their tokens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mesh.description.ports import Ports
from mesh.description.switches import Switches
from mesh.description.topology import Topology
from mesh.istio.access import access_resources
from mesh.istio.agents import agent_component, token_file
from mesh.istio.control_plane import istiod_component
from mesh.istio.proxy_patches import proxy_resources
from mesh.istio.resource import Resource, write_resources
from mesh.istio.services import service_resources
from mesh.istio.tokens import TokenIssuer, is_due
from mesh.istio.traffic import traffic_resources
from mesh.istio.validation import require_valid
from mesh.paths import RunFolder
from mesh.sidecars.certificates import Authority
from mesh.sidecars.workloads import Workload
from mesh.supervisor.processes import Component


@dataclass(frozen=True)
class IstioMesh:
    """The inputs of istiod and of the sidecars' agents."""

    workloads: tuple[Workload, ...]
    topology: Topology
    ports: Ports
    switches: Switches
    folder: RunFolder

    @property
    def file(self) -> Path:
        """The file that istiod reads the resources from."""
        return self.folder.istio_resources / "mesh.yaml"

    @property
    def resources(self) -> list[Resource]:
        """Istio's resources for the mesh."""
        return [
            *service_resources(self.workloads, self.ports, self.folder.sockets),
            *traffic_resources(self.workloads, self.topology, self.switches),
            *access_resources(self.workloads, self.topology, self.switches),
            *proxy_resources(self.workloads, self.ports),
        ]

    def components(self, authority: Authority) -> list[Component]:
        """What to run: istiod, then an agent with its Envoy for each workload.

        Raises:
            NotInstalledError: A program is missing.
            TopologyError: Istio refuses the resources of the topology.
        """
        issuer = TokenIssuer(self.folder)
        made = self.resources
        write_resources(made, self.file)
        require_valid(made, self.file, f"topology={self.topology.name}")
        metrics = self.switches.metrics == "on"
        return [
            istiod_component(self.ports, self.folder, authority, issuer, self.switches.istiod),
            *(
                agent_component(workload, self.ports, self.folder, authority, issuer, metrics=metrics)
                for workload in self.workloads
            ),
        ]

    def renew_tokens(self) -> None:
        """Renews old tokens in long runs; cheap if no token is due for renewal."""
        tokens = {workload: token_file(workload, self.folder) for workload in self.workloads}
        due = [workload for workload, token in tokens.items() if is_due(token)]
        if due:
            issuer = TokenIssuer(self.folder)
            for workload in due:
                issuer.write(workload, tokens[workload])
