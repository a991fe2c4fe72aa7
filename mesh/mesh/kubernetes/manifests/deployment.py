"""What all pods have in common: who they run as, what they may do, how they are watched and how they end."""

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
"""How long a pod that is to end goes on as before, until every node has heard that no new connection may go to it."""
FORGOTTEN_S = 40
"""The same where callers look up the pods: a name server may keep their addresses for 30 s, and callers for 5 s."""
DRAIN_S = 10
"""How long clients then have to leave it; each answer tells them to."""
GRACE_S = 90
STAYS_S = 5
"""How long a new pod must have been ready before an update goes on: callers look for it every 5 s."""
HUNG_GRACE_S = 10
"""What a process has left that does not answer its probe any more: no client waits for it to drain."""
SERVICE, VERSION, WORKLOAD = "app", "version", "workload"
"""Labels that pick the pods of a service, of one version of it, or of one component: those of a native mesh."""
CPU_LIMIT = "2"
APP_PROTOCOL: Mapping[str, Document] = {"tcp": {}, "h2c": {"appProtocol": "kubernetes.io/h2c"}}
"""Where Kubernetes calls what is spoken at a port otherwise."""
PARTS: Mapping[str, str] = {
    **dict.fromkeys((*SERVICES, CANARY), "service"),
    **dict.fromkeys(GATEWAYS, "gateway"),
    EDGE: "proxy",
    POSTGRES: "database",
    JAEGER: "trace-store",
    "database": "job",
    "load": "job",
}
"""What each component is in the whole."""
SCALED = "app.kubernetes.io/component in (service, gateway, proxy)"
"""Selects what autoscalers scale."""


@dataclass(frozen=True)
class Size:
    """What a container is promised, and what it may not go beyond.

    Attributes:
        cpu: CPU that it is promised.
        memory: Memory that it is promised.
        most_memory: Memory above which it is ended.
        most_storage: Files that it may write, those of its pod's volumes among them.
    """

    cpu: str = "50m"
    memory: str = "128Mi"
    most_memory: str = "512Mi"
    most_storage: str = "2Gi"

    def resources(self) -> Document:
        """Requests and limits."""
        return {
            "requests": {"cpu": self.cpu, "memory": self.memory, "ephemeral-storage": "64Mi"},
            "limits": {"cpu": CPU_LIMIT, "memory": self.most_memory, "ephemeral-storage": self.most_storage},
        }


@dataclass(frozen=True)
class Workload:
    """What runs in the pods of one component.

    Attributes:
        name: Name of the component.
        service: The service that it is an instance of: `product` for `product-canary` too.
        containers: Its containers.
        volumes: Their volumes, beyond `/tmp`.
        before: Containers that run to their end before.
        version: `stable` or `canary`.
        annotations: Annotations of the pods.
        sidecar: Whether it has a sidecar where there is a mesh.
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
    """The recommended labels of a resource."""
    part = PARTS.get(name)
    run = {"hopwise/run": options.run} if options.run else {}
    return {
        "app.kubernetes.io/name": name,
        **({"app.kubernetes.io/component": part} if part else {}),
        "app.kubernetes.io/instance": options.namespace,
        "app.kubernetes.io/version": options.tag,
        "app.kubernetes.io/part-of": "hopwise",
        "app.kubernetes.io/managed-by": "hopwise",
        **run,
    }


def document(
    kind: str, version: str, name: str, options: ClusterOptions, *, of: str | None = None, **content: Any
) -> Document:
    """A resource with its labels.

    Args:
        kind: Its kind.
        version: API group and version of the kind.
        name: Its name.
        options: For namespace and labels.
        of: The component that it is for, if its name is another.
        content: Everything beyond its metadata.
    """
    metadata = {"name": name, "namespace": options.namespace, "labels": labels(of or name, options)}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **content}


def network_policy(name: str, options: ClusterOptions, spec: Document, of: str | None = None) -> Document:
    """A network policy."""
    return document("NetworkPolicy", "networking.k8s.io/v1", name, options, of=of, spec=spec)


def selected(name: str) -> Document:
    """Selects the pods of a component."""
    return {"matchLabels": {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "hopwise"}}


def container(
    name: str,
    image: str,
    options: ClusterOptions,
    size: Size,
    *,
    mounts: Sequence[Document] = (),
    **content: Any,
) -> Document:
    """A container that may write to `/tmp` and its volumes only, and do nothing that needs a privilege.

    Args:
        name: Its name.
        image: Full name of its image.
        options: For the pull policy.
        size: What it needs.
        mounts: Where its volumes are, beyond `/tmp`.
        content: Everything else, such as its command, environment and probes.
    """
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
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}, *mounts],  # noqa: S108 - of the pod alone
    }


def probes(probe: Document, *, startup: Document | None = None) -> Document:
    """Startup, readiness and liveness probe of a container, which may take a minute to start.

    Args:
        probe: The question, such as `{"grpc": {"port": 18020}}`.
        startup: The question while it starts; by default, the same.
    """
    ends = {"terminationGracePeriodSeconds": HUNG_GRACE_S}
    return {
        "startupProbe": {
            **(startup or probe),
            **ends,
            "periodSeconds": 1,
            "timeoutSeconds": 2,
            "failureThreshold": 60,
        },
        "readinessProbe": {**probe, "periodSeconds": 5, "timeoutSeconds": 3, "failureThreshold": 3},
        # A busy process may answer late, and a restart would not make it faster.
        "livenessProbe": {**probe, **ends, "periodSeconds": 10, "timeoutSeconds": 10, "failureThreshold": 6},
    }


def pod_template(workload: Workload, options: ClusterOptions, **spec: Any) -> Document:
    """The template of a workload's pods."""
    annotations = dict(workload.annotations)
    pod_labels = {
        **labels(workload.name, options),
        SERVICE: workload.service or workload.name,
        VERSION: workload.version,
        WORKLOAD: workload.name,
        **({} if workload.sidecar else {"sidecar.istio.io/inject": "false"}),
    }
    return {
        "metadata": {"labels": pod_labels, **({"annotations": annotations} if annotations else {})},
        "spec": {
            "serviceAccountName": workload.service or workload.name,
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
    """A deployment that is updated pod by pod, and never with fewer than it should have."""
    spread = {
        "maxSkew": 1,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": selected(workload.name),
        # Else the pods that an update replaces count, and the new ones gather where those were few.
        "matchLabelKeys": ["pod-template-hash"],
    }
    keys = ("kubernetes.io/hostname", "topology.kubernetes.io/zone")
    return document(
        "Deployment",
        "apps/v1",
        workload.name,
        options,
        spec={
            "replicas": options.replicas.get(workload.name, 1),
            "revisionHistoryLimit": 3,
            "minReadySeconds": STAYS_S,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "selector": selected(workload.name),
            "template": pod_template(
                workload, options, topologySpreadConstraints=[{"topologyKey": key, **spread} for key in keys]
            ),
        },
    )


def account(name: str, options: ClusterOptions) -> Document:
    """A component's own service account, without a token in its pods: nobody calls the cluster's API."""
    return document("ServiceAccount", "v1", name, options, automountServiceAccountToken=False)


def service(name: str, ports: Mapping[int, str], options: ClusterOptions, **spec: Any) -> Document:
    """A component's service.

    Args:
        name: Its name.
        ports: What is spoken at each port: `grpc`, `http`, `h2c` (HTTP/1.1 and HTTP/2) or `tcp`.
        options: For namespace and labels.
        spec: More of the service's specification.
    """
    return document(
        "Service",
        "v1",
        name,
        options,
        spec={
            **spec,
            "selector": {SERVICE: name, "app.kubernetes.io/part-of": "hopwise"},
            "ports": [
                {
                    "name": f"{spoken}-{port}",
                    "port": port,
                    "targetPort": port,
                    "protocol": "TCP",
                    **APP_PROTOCOL.get(spoken, {"appProtocol": spoken}),
                }
                for port, spoken in ports.items()
            ],
        },
    )


def exposed(ports: Mapping[int, str]) -> list[Document]:
    """The ports of a container."""
    return [{"name": f"{spoken}-{port}", "containerPort": port, "protocol": "TCP"} for port, spoken in ports.items()]
