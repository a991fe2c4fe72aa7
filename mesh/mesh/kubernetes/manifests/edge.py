"""The edge in a cluster."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

from mesh.description.switches import Switches
from mesh.description.topology import EDGE, Topology
from mesh.edge import envoy, kong, limits
from mesh.edge.component import config_text
from mesh.edge.plan import STDOUT, EdgePlan
from mesh.envoy_config import ALONE, DESCRIPTOR, OPTIONS
from mesh.kubernetes.manifests.deployment import (
    DRAIN_S,
    LEAVES_S,
    Document,
    Size,
    Workload,
    container,
    container_ports,
    document,
    probes,
)
from mesh.kubernetes.manifests.ingress import has_ingress
from mesh.kubernetes.manifests.monitoring import METRICS, OF_ENVOY, metrics_exposed
from mesh.kubernetes.options import ClusterOptions

LOGS = Path("/var/log/hopwise")
ACCESS_LOG = LOGS / "edge.access.jsonl"
CONFIG = Path("/etc/hopwise/edge")
ENVOY_FILE, KONG_FILE = "envoy.yaml", "kong.yaml"
SPEAKS = "h2c"
"""The protocols of the port for clients: HTTP/1.1 and HTTP/2."""
KONG_PREFIX = Path("/var/lib/kong")
"""Folder of the files that Kong writes."""


def plan_of(topology: Topology, switches: Switches, options: ClusterOptions, *, measured: bool) -> EdgePlan:
    """The plan of the edge in a cluster.

    If it is measured, the instrument reads the access log and the traces; otherwise the log goes to standard output.
    """
    return EdgePlan(
        topology,
        options.places,
        ACCESS_LOG if measured else STDOUT,
        by_host=switches.meshed,
        plugins=switches.plugins,
        jwt_public_key=options.jwt_public_key,
        admission=switches.admission == "on",
        metrics=switches.metrics == "on",
        sampling=100.0 if measured else options.sampling,
        proxied=not measured and has_ingress(switches, options),
    )


def edge_config(program: str, plan: EdgePlan, options: ClusterOptions) -> Document:
    """The configuration of an edge whose program is `envoy` or `kong`."""
    if program == "kong":
        return document("ConfigMap", "v1", EDGE, options, data={KONG_FILE: config_text(kong.render(plan))})
    binary: Document = {}
    if plan.topology.transcodes:
        binary = {"binaryData": {DESCRIPTOR.name: base64.b64encode(DESCRIPTOR.read_bytes()).decode()}}
    return document("ConfigMap", "v1", EDGE, options, data={ENVOY_FILE: envoy_text(plan)}, **binary)


def envoy_text(plan: EdgePlan) -> str:
    """Envoy's configuration in a container, with its files in the folder `CONFIG`."""
    return config_text(envoy.render(plan)).replace(str(DESCRIPTOR), str(CONFIG / DESCRIPTOR.name))


def edge_workload(program: str, plan: EdgePlan, config: Document, options: ClusterOptions) -> Workload:
    """The edge's pods; a change to its configuration creates new ones."""
    digest = hashlib.sha256(json.dumps([config.get("data"), config.get("binaryData")]).encode()).hexdigest()
    mounts: list[Document] = [{"name": "config", "mountPath": str(CONFIG), "readOnly": True}]
    volumes: list[Document] = [{"name": "config", "configMap": {"name": EDGE}}]
    if plan.access_log != STDOUT:
        mounts.append({"name": "logs", "mountPath": str(LOGS)})
        volumes.append({"name": "logs", "emptyDir": {"sizeLimit": "1Gi"}})
    asked = probes({"httpGet": {"path": limits.HEALTH_PATH, "port": plan.listen.port}})
    ports = container_ports({plan.listen.port: SPEAKS})
    if plan.metrics:
        ports.append(metrics_exposed(EDGE, options, METRICS if program == "kong" else OF_ENVOY))
    started: Document
    if program == "kong":
        own = {**kong.settings(plan), "KONG_PREFIX": str(KONG_PREFIX)}
        own["KONG_DECLARATIVE_CONFIG"] = str(CONFIG / KONG_FILE)
        image, size = options.kong_image, Size(memory="256Mi", max_memory="1Gi")
        mounts.append({"name": "prefix", "mountPath": str(KONG_PREFIX)})
        volumes.append({"name": "prefix", "emptyDir": {"sizeLimit": "512Mi"}})
        started = {"env": [{"name": name, "value": value} for name, value in own.items()]}
        # The stop signal of Kong's image ends Kong gracefully: requests in flight are answered.
        leaves: Document = {"sleep": {"seconds": LEAVES_S}}
    else:
        image, size = options.image("edge-envoy"), Size()
        # The instrument reads the access log while Envoy writes it.
        flushed = ["--file-flush-interval-msec", "1000"]
        started = {"args": ["-c", str(CONFIG / ENVOY_FILE), *OPTIONS, ALONE, *flushed]}
        leaves = {"exec": {"command": ["bash", "-c", _leave(plan)]}}
    content = {**started, "ports": ports, **asked, "lifecycle": {"preStop": leaves}}
    main = container(EDGE, image, options, size, mounts=mounts, **content)
    return Workload(EDGE, [main], volumes=volumes, annotations={"hopwise/config": digest[:16]})


def _leave(plan: EdgePlan) -> str:
    # Envoy exits at once on SIGTERM. So its health check fails first, which makes each answer close its connection.
    admin = plan.admin
    request = f"POST /healthcheck/fail HTTP/1.1\\r\\nhost: {admin.host}\\r\\ncontent-length: 0\\r\\n\\r\\n"
    return f"exec 3<>/dev/tcp/{admin.host}/{admin.port} && printf '{request}' >&3; sleep {LEAVES_S + DRAIN_S}"
