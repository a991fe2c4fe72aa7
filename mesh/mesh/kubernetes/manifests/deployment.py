"""The common settings of all pods: user, privileges, probes and graceful termination."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mesh.components.jaeger import JAEGER
from mesh.components.postgres import POSTGRES
from mesh.description.topology import EDGE, GATEWAYS, SERVICES
from mesh.kubernetes.options import ClusterOptions
from mesh.sidecars.workloads import CANARY

Document = dict[str, Any]
"""A resource of Kubernetes, or a part of one, as plain data."""

USER = 65532
LEAVES_S = 5
"""How long a terminating pod keeps accepting calls, until every node knows that it gets no new connections."""
FORGOTTEN_S = 40
"""How long a terminating pod keeps accepting calls if callers look up pods by DNS: a name server may cache addresses
for 30 s, and callers for 5 s."""
DRAIN_S = 10
"""How long a terminating pod then waits for clients to close their connections, as each answer asks them to do."""
GRACE_S = 90
STAYS_S = 5
"""How long a new pod must be ready before an update continues: callers look for new pods every 5 s."""
HUNG_GRACE_S = 10
"""Grace period of a process that no longer answers its probe: no client waits for it to drain."""
SERVICE, VERSION, WORKLOAD = "app", "version", "workload"
"""Labels that select the pods of a service, of one of its versions, or of one component, as in a native mesh."""
CPU_LIMIT = "2"
APP_PROTOCOL: Mapping[str, Document] = {"tcp": {}, "h2c": {"appProtocol": "kubernetes.io/h2c"}}
"""Kubernetes' names for a port's protocol, where they differ from ours."""
PARTS: Mapping[str, str] = {
    **dict.fromkeys((*SERVICES, CANARY), "service"),
    **dict.fromkeys(GATEWAYS, "gateway"),
    EDGE: "proxy",
    POSTGRES: "database",
    JAEGER: "trace-store",
    "database": "job",
    "load": "job",
}
"""Role of each component in the system."""
SCALED = "app.kubernetes.io/component in (service, gateway, proxy)"
"""Selects the deployments that autoscalers scale."""


@dataclass(frozen=True)
class Size:
    """Resource requests and limits of a container; `max_storage` includes the files in its pod's volumes."""

    cpu: str = "50m"
    memory: str = "128Mi"
    max_memory: str = "512Mi"
    max_storage: str = "2Gi"

    def resources(self) -> Document:
        return {
            "requests": {"cpu": self.cpu, "memory": self.memory, "ephemeral-storage": "64Mi"},
            "limits": {"cpu": CPU_LIMIT, "memory": self.max_memory, "ephemeral-storage": self.max_storage},
        }


@dataclass(frozen=True)
class Workload:
    """The pods of one component.

    Attributes:
        service: The service that the pods are instances of: `product` for `product-canary` too.
        volumes: Volumes of each pod, in addition to `/tmp`.
        before: Init containers, which run to completion first.
        version: `stable` or `canary`.
        sidecar: Whether each pod has a sidecar if there is a mesh.
    """

    name: str
    containers: Sequence[Document]
    service: str = ""
    volumes: Sequence[Document] = ()
    before: Sequence[Document] = ()
    version: str = "stable"
    annotations: Mapping[str, str] = field(default_factory=dict)
    sidecar: bool = True


def labels(name: str, options: ClusterOptions) -> dict[str, str]:
    """Kubernetes' recommended labels for a resource."""
    return {
        "app.kubernetes.io/name": name,
        **({"app.kubernetes.io/component": PARTS[name]} if name in PARTS else {}),
        "app.kubernetes.io/instance": options.namespace,
        "app.kubernetes.io/version": options.tag,
        "app.kubernetes.io/part-of": "hopwise",
        "app.kubernetes.io/managed-by": "hopwise",
        **({"hopwise/run": options.run} if options.run else {}),
    }


def document(
    kind: str, version: str, name: str, options: ClusterOptions, *, of: str | None = None, **content: Any
) -> Document:
    """A resource with its labels; `of` is the component that it is for, if the component's name differs."""
    metadata = {"name": name, "namespace": options.namespace, "labels": labels(of or name, options)}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **content}


def network_policy(name: str, options: ClusterOptions, spec: Document, of: str | None = None) -> Document:
    return document("NetworkPolicy", "networking.k8s.io/v1", name, options, of=of, spec=spec)


def select_pods(name: str) -> Document:
    """Selects the pods of a component."""
    return {"matchLabels": {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "hopwise"}}


def container(
    name: str, image: str, options: ClusterOptions, size: Size, *, mounts: Sequence[Document] = (), **content: Any
) -> Document:
    """A container that may write only to `/tmp` and its volumes, and has no privileges."""
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": options.pull_policy,
        **content,
        "resources": size.resources(),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}, *mounts],  # noqa: S108 - inside the pod only
    }


def probes(probe: Document, *, startup: Document | None = None) -> Document:
    """Startup, readiness and liveness probes of a container, which may take a minute to start.

    Args:
        probe: The check, such as `{"grpc": {"port": 18020}}`.
        startup: The check while the container starts; by default, the same as `probe`.
    """
    ends = {"terminationGracePeriodSeconds": HUNG_GRACE_S}
    starts = {**(startup or probe), **ends}
    return {
        "startupProbe": {**starts, "periodSeconds": 1, "timeoutSeconds": 2, "failureThreshold": 60},
        "readinessProbe": {**probe, "periodSeconds": 5, "timeoutSeconds": 3, "failureThreshold": 3},
        # A busy process may answer late, and a restart would not help.
        "livenessProbe": {**probe, **ends, "periodSeconds": 10, "timeoutSeconds": 10, "failureThreshold": 6},
    }


def pod_template(workload: Workload, options: ClusterOptions, **spec: Any) -> Document:
    annotations, of = dict(workload.annotations), workload.service or workload.name
    pod_labels = {
        **labels(workload.name, options),
        SERVICE: of,
        VERSION: workload.version,
        WORKLOAD: workload.name,
        **({} if workload.sidecar else {"sidecar.istio.io/inject": "false"}),
    }
    return {
        "metadata": {"labels": pod_labels, **({"annotations": annotations} if annotations else {})},
        "spec": {
            "serviceAccountName": of,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": USER,
                "runAsGroup": USER,
                "fsGroup": USER,
                "fsGroupChangePolicy": "OnRootMismatch",
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "terminationGracePeriodSeconds": GRACE_S,
            **spec,
            **({"initContainers": list(workload.before)} if workload.before else {}),
            "containers": list(workload.containers),
            "volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": "256Mi"}}, *workload.volumes],
        },
    }


def deployment(workload: Workload, options: ClusterOptions) -> Document:
    """A deployment that is updated pod by pod, and never has fewer pods than requested."""
    spread = {
        "maxSkew": 1,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": select_pods(workload.name),
        # Otherwise an update's old pods count, and the new pods crowd onto nodes that had few old pods.
        "matchLabelKeys": ["pod-template-hash"],
    }
    spreads = [{"topologyKey": key, **spread} for key in ("kubernetes.io/hostname", "topology.kubernetes.io/zone")]
    spec = {
        "replicas": options.replicas.get(workload.name, 1),
        "revisionHistoryLimit": 3,
        "minReadySeconds": STAYS_S,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
        "selector": select_pods(workload.name),
        "template": pod_template(workload, options, topologySpreadConstraints=spreads),
    }
    return document("Deployment", "apps/v1", workload.name, options, spec=spec)


def account(name: str, options: ClusterOptions) -> Document:
    """A component's service account, without a token in its pods: no component calls the cluster's API."""
    return document("ServiceAccount", "v1", name, options, automountServiceAccountToken=False)


def service(name: str, ports: Mapping[int, str], options: ClusterOptions, **spec: Any) -> Document:
    """A component's service, with the protocol at each port: `grpc`, `http`, `h2c` (HTTP/1.1 and HTTP/2) or `tcp`."""
    served: list[Document] = [
        {
            "name": f"{spoken}-{port}",
            "port": port,
            "targetPort": port,
            "protocol": "TCP",
            **APP_PROTOCOL.get(spoken, {"appProtocol": spoken}),
        }
        for port, spoken in ports.items()
    ]
    selector = {SERVICE: name, "app.kubernetes.io/part-of": "hopwise"}
    return document("Service", "v1", name, options, spec={**spec, "selector": selector, "ports": served})


def container_ports(ports: Mapping[int, str]) -> list[Document]:
    return [{"name": f"{spoken}-{port}", "containerPort": port, "protocol": "TCP"} for port, spoken in ports.items()]
