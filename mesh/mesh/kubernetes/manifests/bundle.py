"""All manifests of a system, made from its topology, the ports and the switches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mesh.components.jaeger import JAEGER
from mesh.components.keys import PRIVATE_KEY, PUBLIC_KEY
from mesh.components.postgres import POSTGRES
from mesh.description.switches import Switches
from mesh.description.topology import EDGE, Topology
from mesh.errors import SwitchError
from mesh.kubernetes.manifests.deployment import SCALED, Document, Workload, account, deployment, labels, service
from mesh.kubernetes.manifests.edge import SPEAKS, edge_config, edge_workload, plan_of
from mesh.kubernetes.manifests.ingress import has_ingress, ingress
from mesh.kubernetes.manifests.istio import guarded_traces, guarded_traces_patches, mesh_resources, pod_annotations
from mesh.kubernetes.manifests.monitoring import pod_monitor
from mesh.kubernetes.manifests.policies import (
    LOAD,
    autoscaler,
    database_policies,
    disruption_budget,
    managed_database_policies,
    network_policies,
)
from mesh.kubernetes.manifests.secrets import DATABASE, DATABASE_KEYS, KEYS
from mesh.kubernetes.manifests.shop import production_patches, shop_service, shop_workloads
from mesh.kubernetes.manifests.stores import JOB, database_job, jaeger, jaeger_service_ports, migration_job, postgres
from mesh.kubernetes.options import ClusterOptions
from mesh.sidecars.workloads import CANARY

BASE, BENCH, PRODUCTION = "base", "overlays/bench", "overlays/production"
KUSTOMIZATION = "kustomization.yaml"
SECRETS = "secrets"
"""Folder of the bench's secrets, a file for each value."""
Manifests = dict[str, list[Document]]
"""The documents of each file, by its path."""


def manifests(topology: Topology, switches: Switches, options: ClusterOptions) -> Manifests:
    """All files: a Kustomize base, and the overlays `bench` and `production`."""
    folders = {
        BASE: _base(topology, switches, options),
        BENCH: _bench(topology, switches, options),
        PRODUCTION: _production(topology, switches, options),
    }
    patches = [
        _AUTOSCALED,
        *(guarded_traces_patches(options) if _guards_traces(switches, options) else []),
        *production_patches(topology, switches, options),
    ]
    more: dict[str, Document] = {BENCH: _secret_generators(options), PRODUCTION: {"patches": patches}}
    files = {f"{folder}/{name}": made for folder, inside in folders.items() for name, made in inside.items()}
    for folder, inside in folders.items():
        kustomization: Document = {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "namespace": options.namespace,
            "resources": [*([] if folder == BASE else [f"../../{BASE}"]), *inside],
        }
        files[f"{folder}/{KUSTOMIZATION}"] = [kustomization | more.get(folder, {})]
    return files


def documents(files: Mapping[str, Sequence[Document]], overlay: str = BENCH) -> list[Document]:
    """The resources of one overlay and the base, in the order in which they may be applied.

    The overlay's patches to the base, as in `production`, are not applied.
    """
    return [
        resource
        for folder in (BASE, overlay)
        for path, resources in files.items()
        if path.startswith(f"{folder}/") and not path.endswith(KUSTOMIZATION)
        for resource in resources
    ]


def _base(topology: Topology, switches: Switches, options: ClusterOptions) -> Manifests:
    scaled = _autoscaled_components(topology, switches)
    traces = [] if options.collector else [JAEGER]
    canaries = [CANARY] if switches.canary else []
    files: Manifests = {
        "namespace.yaml": [_namespace(switches, options)],
        "accounts.yaml": [account(name, options) for name in [*scaled, *traces, LOAD]],
        "network.yaml": network_policies(topology, switches, options),
        "disruptions.yaml": [disruption_budget(name, options) for name in [*scaled, *canaries]],
    }
    if traces:
        ports = jaeger_service_ports(options.places.ports)
        files["jaeger.yaml"] = [service(JAEGER, ports, options), deployment(jaeger(options), options)]
    if switches.meshed:
        files["mesh.yaml"] = mesh_resources(topology, switches, options)
    for workload in shop_workloads(topology, switches, options):
        has_service = workload.name == workload.service
        files[f"{workload.name}.yaml"] = [
            *([shop_service(workload.name, topology, switches, options)] if has_service else []),
            _deployment(workload, switches, options),
        ]
    if switches.has_edge:
        files[f"{EDGE}.yaml"] = [service(EDGE, {options.places.ports[EDGE]: SPEAKS}, options)]
    return files


def _edge(topology: Topology, switches: Switches, options: ClusterOptions, *, measured: bool) -> Manifests:
    if not switches.has_edge:
        return {}
    plan = plan_of(topology, switches, options, measured=measured)
    config = edge_config(switches.edge, plan, options)
    workload = edge_workload(switches.edge, plan, config, options)
    return {f"{EDGE}.yaml": [config, _deployment(workload, switches, options)]}


def _bench(topology: Topology, switches: Switches, options: ClusterOptions) -> Manifests:
    owners = [JOB] if options.database_url else [POSTGRES, JOB]
    files: Manifests = {
        "accounts.yaml": [account(name, options) for name in owners],
        "database.yaml": [database_job(switches, options)],
        **_edge(topology, switches, options, measured=True),
    }
    if options.database_url:
        files["network.yaml"] = managed_database_policies(topology, options)
    else:
        files["network.yaml"] = database_policies(topology, options)
        files["postgres.yaml"] = postgres(options)
    return files


def _production(topology: Topology, switches: Switches, options: ClusterOptions) -> Manifests:
    files: Manifests = {
        "accounts.yaml": [account(JOB, options)],
        "autoscalers.yaml": [autoscaler(name, options) for name in _autoscaled_components(topology, switches)],
        "database.yaml": [migration_job(options)],
        "network.yaml": managed_database_policies(topology, options),
        **_edge(topology, switches, options, measured=False),
    }
    if _guards_traces(switches, options):
        files["traces.yaml"] = guarded_traces(topology, options)
    if switches.metrics == "on":
        files["monitoring.yaml"] = [pod_monitor(topology, options)]
    if options.host and not switches.has_edge:
        raise SwitchError(f"host={options.host} needs an edge that serves this host; give edge=envoy or edge=kong.")
    if has_ingress(switches, options):
        files["ingress.yaml"] = ingress(topology, switches, options)
    return files


def _deployment(workload: Workload, switches: Switches, options: ClusterOptions) -> Document:
    if switches.meshed:
        sidecars = pod_annotations(workload.service or workload.name, switches, options)
        workload = replace(workload, annotations={**workload.annotations, **sidecars})
    return deployment(workload, options)


def _guards_traces(switches: Switches, options: ClusterOptions) -> bool:
    """Whether production's Jaeger is in the mesh. A bench's Jaeger is not: load generators have no sidecar."""
    return switches.encrypted and not options.collector


def _autoscaled_components(topology: Topology, switches: Switches) -> list[str]:
    return [*topology.components, *([EDGE] if switches.has_edge else [])]


def _namespace(switches: Switches, options: ClusterOptions) -> Document:
    standards = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")}
    injected = {"istio-injection": "enabled"} if switches.meshed else {}
    if switches.meshed and not options.istio_cni:
        # Istio's injected init container redirects the pod's traffic, which needs NET_ADMIN and root.
        standards["pod-security.kubernetes.io/enforce"] = "privileged"
    own = {**labels("hopwise", options), **standards, **injected}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": options.namespace, "labels": own}}


def _secret_generators(options: ClusterOptions) -> Document:
    """The bench's secrets; their values are in files of the same overlay."""
    named = {KEYS: (PRIVATE_KEY, PUBLIC_KEY), DATABASE: DATABASE_KEYS}
    return {
        "generatorOptions": {"disableNameSuffixHash": True, "labels": labels("hopwise", options)},
        "secretGenerator": [
            {"name": name, "files": [f"{SECRETS}/{key}" for key in keys]} for name, keys in named.items()
        ],
    }


# Autoscalers set the number of pods, and compare the pods' CPU usage with their requests.
_AUTOSCALED: Document = {
    "target": {"kind": "Deployment", "labelSelector": SCALED},
    "patch": """\
- op: remove
  path: /spec/replicas
- op: replace
  path: /spec/template/spec/containers/0/resources/requests/cpu
  value: 500m
""",
}
