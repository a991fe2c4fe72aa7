"""The services and gateways in a cluster: the processes of a native run, in pods."""

from __future__ import annotations

import json
from typing import Any

from mesh.components.keys import PRIVATE_KEY, PUBLIC_KEY, KeyPair
from mesh.components.postgres import Database
from mesh.components.shop_processes import IMAGE, Surroundings, arguments_of, environment, in_image, measurement
from mesh.description.switches import Switches
from mesh.description.topology import EDGE, GATEWAYS, Protocol, Topology, port_name
from mesh.kubernetes.manifests.deployment import (
    DRAIN_S,
    FORGOTTEN_S,
    LEAVES_S,
    Document,
    Size,
    Workload,
    container,
    container_ports,
    probes,
    service,
)
from mesh.kubernetes.manifests.monitoring import metrics_exposed
from mesh.kubernetes.manifests.secrets import (
    DATABASE,
    DATABASE_MOUNT,
    KEYS,
    KEYS_FOLDER,
    KEYS_MOUNT,
    in_file,
    secret_volume,
    url_of,
)
from mesh.kubernetes.options import ClusterOptions
from mesh.sidecars.workloads import CANARY, CANARY_OF, CANARY_VERSION, STABLE, TRUST_DOMAIN

CONNECTION_AGE_S = 300
"""Seconds after which gRPC callers that balance over pods themselves look for new pods."""
SPOKEN = {**dict.fromkeys(Protocol, "http"), Protocol.GRPC: "grpc"}
DATABASE_URL, GRAPHIQL = "SHOP_DATABASE_URL", "SHOP_GRAPHIQL"
# A placeholder without the password; a process gets the file of the secret instead.
_ELSEWHERE = Database("postgresql://nobody:nothing@postgres/postgres", embedded=False)


def ports_of(component: str, topology: Topology, options: ClusterOptions) -> dict[int, str]:
    """The ports of a service or gateway, each with its protocol."""
    ports = options.places.ports
    return {ports[port_name(component, protocol)]: SPOKEN[protocol] for protocol in topology.protocols_of(component)}


def shop_workloads(topology: Topology, switches: Switches, options: ClusterOptions) -> list[Workload]:
    """The services and gateways of a topology, and the canary if there is one."""
    around = _surroundings(topology, switches, options)
    return [_workload(name, around, options) for name in _names(topology, switches)]


def production_patches(topology: Topology, switches: Switches, options: ClusterOptions) -> list[dict[str, Any]]:
    """The patches that remove the experiment's additions from the project's programs."""
    around = _surroundings(topology, switches, options)
    patches = []
    for name in _names(topology, switches):
        component = CANARY_OF if name == CANARY else name
        if component in topology.programs:
            continue
        main = {
            "name": name,
            "command": ["python", *arguments_of(component, measured=False)],
            "env": [{"name": key, "$patch": "delete"} for key in measurement(component, around)],
        }
        patch = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name},
            "spec": {"template": {"spec": {"containers": [main]}}},
        }
        patches.append({"target": {"kind": "Deployment", "name": name}, "patch": json.dumps(patch)})
    return patches


def _names(topology: Topology, switches: Switches) -> list[str]:
    return [*topology.components, *([CANARY] if switches.canary else [])]


def shop_service(component: str, topology: Topology, switches: Switches, options: ClusterOptions) -> Document:
    """The service of a service or gateway."""
    # kube-proxy balances connections, and a gRPC client has one connection, so without sidecars the callers balance
    # over the pods.
    headless = {} if switches.meshed else {"clusterIP": "None"}
    return service(component, ports_of(component, topology, options), options, **headless)


def _surroundings(topology: Topology, switches: Switches, options: ClusterOptions) -> Surroundings:
    # The SPIFFE ID that Istio's certificates give to the edge.
    identity = f"spiffe://{TRUST_DOMAIN}/ns/{options.namespace}/sa/{EDGE}"
    known = {"SHOP_EDGE_IDENTITY": identity} if switches.encrypted else {}
    return Surroundings(
        topology,
        switches,
        options.places,
        _ELSEWHERE,
        KeyPair(private=KEYS_FOLDER / PRIVATE_KEY, public=KEYS_FOLDER / PUBLIC_KEY),
        options.trial,
        dict.fromkeys(topology.components, known),
    )


def _workload(name: str, around: Surroundings, options: ClusterOptions) -> Workload:
    meshed = around.switches.meshed
    component = CANARY_OF if name == CANARY else name
    settings = environment(component, around) | {"SHOP_COMPONENT": name, "OTEL_SERVICE_NAME": name}
    settings.pop(GRAPHIQL, None)  # a page for people who try the shop on their own machine
    needed = [key for key in (PUBLIC_KEY, PRIVATE_KEY) if str(KEYS_FOLDER / key) in settings.values()]
    variables: list[Document] = [
        in_file(DATABASE_URL, url_of(component)) if key == DATABASE_URL else {"name": key, "value": value}
        for key, value in settings.items()
    ]
    variables.append({"name": "SHOP_DRAIN_S", "value": str(DRAIN_S)})
    if not meshed:
        variables.append({"name": "SHOP_CONNECTION_AGE_S", "value": str(CONNECTION_AGE_S)})
    variables.append({"name": "SHOP_INSTANCE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}})
    ports = ports_of(component, around.topology, options)
    metrics = [metrics_exposed(component, options)] if around.switches.metrics == "on" else []
    stores = component not in GATEWAYS
    port, spoken = next(iter(ports.items()))
    question = {"grpc": {"port": port}} if spoken == "grpc" else {"httpGet": {"path": "/healthz", "port": port}}
    image, command = in_image(component, around.topology, options.image, measured=True)
    main = container(
        name,
        image,
        options,
        Size(),
        mounts=[*([KEYS_MOUNT] if needed else []), *([DATABASE_MOUNT] if stores else [])],
        **({"command": command} if command else {}),
        env=variables,
        ports=[*container_ports(ports), *metrics],
        **probes(question),
        lifecycle={"preStop": {"sleep": {"seconds": LEAVES_S if meshed else FORGOTTEN_S}}},
    )
    return Workload(
        name,
        [main],
        service=component,
        version=CANARY_VERSION if name == CANARY else STABLE,
        volumes=[
            *([secret_volume(KEYS, *needed)] if needed else []),
            *([secret_volume(DATABASE, url_of(component))] if stores else []),
        ],
        before=[_await_schema(component, options)] if stores else [],
    )


def _await_schema(component: str, options: ClusterOptions) -> Document:
    """Waits until the job `database` has granted the service access and migrated its schema to this version."""
    return container(
        "await-schema",
        options.image(IMAGE),
        options,
        Size(cpu="10m", memory="32Mi", max_memory="128Mi"),
        mounts=[DATABASE_MOUNT],
        command=["python", "-m", "shop.database", "await", f"--service={component}"],
        env=[in_file(DATABASE_URL, url_of(component))],
    )
