"""Istio's resources, and how they are written for istiod."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from mesh.sidecars.workloads import DOMAIN, NAMESPACE, TRUST_DOMAIN

ROOT_NAMESPACE = "istio-system"
"""Resources in this namespace apply to the whole mesh."""
MADE_FOR = "hopwise/made-for"
"""The annotation with the topology's link or component that a resource was made for, so that errors can name it."""
NETWORKING, ENVOY = "networking.istio.io/v1", "networking.istio.io/v1alpha3"
SECURITY, TELEMETRY = "security.istio.io/v1", "telemetry.istio.io/v1"


@dataclass(frozen=True)
class Naming:
    """Names within a mesh.

    Attributes:
        namespace: Namespace of the mesh's workloads and their resources.
        root_namespace: Namespace of the resources that apply to the whole mesh.
        domain: Suffix of the services' host names.
    """

    namespace: str = NAMESPACE
    root_namespace: str = ROOT_NAMESPACE
    domain: str = DOMAIN

    def host(self, service: str) -> str:
        """The host name of a service in the mesh."""
        return f"{service}.{self.domain}"

    def principal(self, service: str) -> str:
        """A service's identity in permissions: its SPIFFE ID without the scheme."""
        return f"{TRUST_DOMAIN}/ns/{self.namespace}/sa/{service}"

    def resource(
        self, kind: str, name: str, made_for: str, spec: Mapping[str, Any], version: str = NETWORKING
    ) -> Resource:
        """A resource of the mesh's workloads."""
        return Resource(kind, name, made_for, spec, version, self.namespace)

    def mesh_resource(self, kind: str, name: str, made_for: str, spec: Mapping[str, Any], version: str) -> Resource:
        """A resource that applies to the whole mesh."""
        return Resource(kind, name, made_for, spec, version, self.root_namespace)


NATIVE = Naming()
"""The names in a mesh on this machine."""


@dataclass(frozen=True)
class Resource:
    """An Istio resource.

    Attributes:
        name: Name, unique among resources of its kind.
        made_for: What the resource was made for, such as `link order -> product` or `component product`.
        version: API group and version of the kind.
        namespace: Namespace; the mesh's own resources are in `ROOT_NAMESPACE`.
    """

    kind: str
    name: str
    made_for: str
    spec: Mapping[str, Any]
    version: str = NETWORKING
    namespace: str = NAMESPACE

    def document(self) -> dict[str, Any]:
        """The resource in Kubernetes' form, ready for YAML."""
        metadata = {"name": self.name, "namespace": self.namespace, "annotations": {MADE_FOR: self.made_for}}
        return {"apiVersion": self.version, "kind": self.kind, "metadata": metadata, "spec": dict(self.spec)}


def write_resources(resources: Iterable[Resource], file: Path) -> None:
    """Writes resources into one `.yaml` file, atomically: istiod watches the file's folder and applies changes."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.write_text(yaml.safe_dump_all([resource.document() for resource in resources], sort_keys=False))
    new.replace(file)
