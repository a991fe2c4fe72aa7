"""A topology as a Compose file: its processes in containers on one machine, behind Envoy and, on request, Kong."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mesh.components.exporters import OF_POSTGRES, with_sslmode
from mesh.components.jaeger import JAEGER, jaeger_environment
from mesh.components.keys import PRIVATE_KEY, PUBLIC_KEY, KeyPair
from mesh.components.postgres import POSTGRES, Database
from mesh.components.prometheus import PROMETHEUS, config_of, jobs_of, options
from mesh.components.shop_processes import (
    IMAGE,
    MONITOR_ROLE,
    TRIAL_DATABASE,
    Data,
    Surroundings,
    environment,
    in_image,
    role_name,
)
from mesh.description.ports import HOST
from mesh.description.switches import Switches
from mesh.description.topology import (
    EDGE,
    GATEWAYS,
    SERVICES,
    Protocol,
    Topology,
    metrics_port,
    port_name,
    require_runnable,
)
from mesh.edge import kong, limits
from mesh.edge.component import config_text
from mesh.edge.plan import STDOUT, EdgePlan
from mesh.envoy_config import ALONE, DESCRIPTOR, OPTIONS
from mesh.kubernetes.manifests.deployment import USER
from mesh.kubernetes.manifests.edge import CONFIG, ENVOY_FILE, KONG_FILE, envoy_text
from mesh.kubernetes.manifests.files import as_yaml
from mesh.kubernetes.manifests.policies import LOAD, links
from mesh.kubernetes.manifests.stores import DATA, HBA, HBA_RULES, JOB, initdb, is_ready, server_options
from mesh.kubernetes.options import KONG_IMAGE
from mesh.kubernetes.places import ClusterPlaces
from mesh.paths import ALERT_RULES, DASHBOARDS, JAEGER_CONFIG, ROOT
from provision.images import FILE as CONTAINERFILE
from provision.images import PREFIX, TARGETS
from provision.jaeger import VERSION as JAEGER_VERSION

Service = dict[str, Any]
"""A service in a Compose file, as plain data."""

PLACES = ClusterPlaces()
"""Where everything listens and is reached; Compose has the names and ports of a cluster."""
FILE, FOLDER = Path("compose.yaml"), Path("compose")
"""The Compose file, and the folder of the configuration files that its containers mount."""
HEADER = "# Made by `make compose`: change the topology, the tables of ports and routes, or mesh/mesh/compose.py.\n"
SECRETS = Path("/var/lib/hopwise/secrets")
"""The folder in which `shop.secrets` makes a folder for every component with secrets; each of these folders is a
separate volume."""
PUBLIC, ADMIN = "public", "admin"
ENVOY_IMAGE = "edge-envoy"
KONG = "edge-kong"
JAEGER_IMAGE = f"docker.io/jaegertracing/jaeger:{JAEGER_VERSION}"
BASE_IMAGE = "docker.io/library/debian:bookworm-slim"
"""The base image that the Containerfile uses by default; settings can pin an image by its digest."""
CPUS = 1.0
"""CPU time per second that a container may use. Docker refuses a limit above the machine's number of CPUs."""
START_LIMIT_S = 120
"""How long PostgreSQL's start may take, in seconds."""
GRAFANA, GRAFANA_PORT = "grafana", 3000
PROMETHEUS_IMAGE, GRAFANA_IMAGE = "docker.io/prom/prometheus:v3.5.0", "docker.io/grafana/grafana:12.1.1"
EXPORTER, EXPORTER_IMAGE = OF_POSTGRES.component, "docker.io/prometheuscommunity/postgres-exporter:v0.18.1"
PROMETHEUS_FILE = "prometheus.yaml"
_OF_PROMETHEUS, _OF_GRAFANA = Path("/etc/prometheus"), Path("/etc/grafana/provisioning")
_SOURCE = {"name": "Prometheus", "uid": PROMETHEUS, "type": PROMETHEUS, "url": PLACES.endpoints(PROMETHEUS)[0].url}
_PROVIDER = {"name": "shop", "type": "file", "options": {"path": str(_OF_GRAFANA / "json")}}
GRAFANA_READS: Mapping[str, Service] = {
    "datasources": {"apiVersion": 1, "datasources": [{**_SOURCE, "isDefault": True}]},
    "dashboards": {"apiVersion": 1, "providers": [_PROVIDER]},
}
"""Grafana's provisioning: where it finds the metrics and the dashboards."""
PUBLISHED = {
    EDGE: ("EDGE_PORT", 18000),
    KONG: ("KONG_PORT", 18001),
    JAEGER: ("JAEGER_PORT", 18072),
    PROMETHEUS: ("PROMETHEUS_PORT", 18083),
    GRAFANA: ("GRAFANA_PORT", 18084),
}
"""Services that the host can reach: for each, the variable that sets the port on the host, and the default port."""
_APART: Service = {"driver_opts": {"isolate": "true"}}
"""Podman passes packets between networks unless they are isolated; Docker always isolates them."""
STARTED, HEALTHY = {"condition": "service_started"}, {"condition": "service_healthy"}
DONE = {"condition": "service_completed_successfully"}
_ELSEWHERE = Database("postgresql://nobody:nothing@nowhere/nothing", embedded=False)
"""A placeholder in settings that would contain a password; PostgreSQL's clients read the passwords from PGPASSFILE."""


def compose_files(topology: Topology, data: Data, folder: Path, *, metrics: bool = False) -> dict[Path, str]:
    """The Compose file and its configuration files, by their paths below a folder.

    Args:
        folder: The folder that the files are written for; paths to the sources of images are relative to it.
        metrics: Whether Prometheus collects the components' metrics and Grafana shows them.

    Raises:
        TopologyError: One of the user's programs has no image.
    """
    require_runnable(topology, "image")
    plan = EdgePlan(topology, PLACES, STDOUT, metrics=metrics)
    root = os.path.relpath(ROOT, folder)
    files = {FOLDER / HBA.name: HBA_RULES, FOLDER / ENVOY_FILE: HEADER + envoy_text(plan)}
    services = {
        "secrets": _task(
            _image(IMAGE),
            command=["python", "-m", "shop.secrets", str(SECRETS)],
            volumes=[_secrets_of(owner, "rw") for owner in (ADMIN, PUBLIC, *SERVICES, EXPORTER)],
        ),
        POSTGRES: _postgres(),
        JOB: _database(data),
        JAEGER: _jaeger(root),
        **{name: _shop(name, plan) for name in topology.components},
        EDGE: _envoy(plan, root),
    }
    if not topology.needs_envoy:
        files[FOLDER / KONG_FILE] = HEADER + config_text(kong.render(plan))
        services[KONG] = _kong(plan)
    if metrics:
        measured = {name: PLACES.endpoints(metrics_port(name)) for name in topology.components}
        jobs = jobs_of(topology, Switches(metrics="on"), measured, PLACES, exporters=[EXPORTER])
        files[FOLDER / PROMETHEUS_FILE] = HEADER + config_of(jobs, _OF_PROMETHEUS / ALERT_RULES.name)
        files |= {FOLDER / f"grafana-{name}.yaml": HEADER + as_yaml([read]) for name, read in GRAFANA_READS.items()}
        services |= {EXPORTER: _exporter(), PROMETHEUS: _prometheus(root), GRAFANA: _grafana(root)}
    networks = _networks(topology, metrics=metrics)
    services = _with_networks(_with_builds(services, root), networks)
    named = (mount.partition(":")[0] for service in services.values() for mount in service.get("volumes", []))
    document = {
        "name": f"hopwise-{topology.name.lower()}",
        "services": services,
        "networks": dict.fromkeys(networks, _APART),
        "volumes": {volume: {} for volume in sorted(set(named)) if "/" not in volume},
    }
    return {FILE: HEADER + as_yaml([document]), **files}


def _postgres() -> Service:
    port = PLACES.ports[POSTGRES]
    start = f'{initdb(str(SECRETS / ADMIN / "password"))} && exec postgres "$@"'
    return _server(
        _image(POSTGRES),
        memory="1g",
        entrypoint=["sh", "-c", _escape(start), POSTGRES],
        command=server_options(port),
        volumes=[f"{POSTGRES}-data:{DATA}", _secrets_of(ADMIN), _file(f"./{FOLDER / HBA.name}", HBA)],
        depends_on={"secrets": DONE},
        healthcheck=_health_check(is_ready(HOST, port)),
        stop_grace_period="1m",
    )


def _database(data: Data) -> Service:
    """Makes the seeded database if it is missing, so that orders survive a restart."""
    prepare = f"prepare --scale {data.scale} --seed {data.seed} --wait {START_LIMIT_S} --trial {TRIAL_DATABASE} --keep"
    steps = (
        f'SHOP_ROLE_PASSWORDS="$(cat {SECRETS / ADMIN / "role-passwords"})"',
        "export SHOP_ROLE_PASSWORDS",
        f"exec python -m dataset {prepare}",
    )
    return _task(
        _image(IMAGE),
        memory="1g",
        command=["bash", "-euo", "pipefail", "-c", _escape("\n".join(steps))],
        environment={"SHOP_ADMIN_URL": _url(POSTGRES, POSTGRES), **_password_of(ADMIN)},
        volumes=[_secrets_of(ADMIN)],
        # The task waits for PostgreSQL by itself, because Podman 4.3 cannot wait for a container's health. If an ended
        # container depends on a running one, Podman 4.3 starts nothing after it.
        depends_on={"secrets": DONE},
    )


def _jaeger(root: str) -> Service:
    config = Path("/etc/jaeger/config.yaml")
    # No health check: other images of Jaeger may lack a program for it.
    return _server(
        f"${{JAEGER_IMAGE:-{JAEGER_IMAGE}}}",
        memory="2g",
        command=[f"--config=file:{config}"],
        environment=jaeger_environment(PLACES, PLACES.ports.offsets),
        volumes=[_file(f"{root}/{JAEGER_CONFIG.relative_to(ROOT)}", config)],
        ports=[_publish(JAEGER, PLACES.ports["jaeger-query-http"])],
    )


def _shop(component: str, plan: EdgePlan) -> Service:
    topology = plan.topology
    keys = KeyPair(private=SECRETS / component / PRIVATE_KEY, public=SECRETS / PUBLIC / PUBLIC_KEY)
    switches = Switches(metrics="on" if plan.metrics else "off")
    around = Surroundings(topology, switches, PLACES, _ELSEWHERE, keys, "compose", extra={}, measured=False)
    settings = environment(component, around)
    settings.pop("SHOP_GRAPHIQL", None)  # GraphiQL is not in the image
    if component not in GATEWAYS:
        settings["SHOP_DATABASE_URL"] = _url(role_name(component), TRIAL_DATABASE)
        settings |= _password_of(component)
    text = "\n".join(settings.values())
    protocol = topology.protocols_of(component)[0]
    port = PLACES.ports[port_name(component, protocol)]
    image, command = in_image(component, topology, _image, measured=False)
    # A service listens only once it is ready. Each call to gRPC's health service would start a Python interpreter.
    listens = ["bash", "-c", f"exec 3<>/dev/tcp/{HOST}/{port}"]
    asks = listens if protocol is Protocol.GRPC else _check_http(port, limits.HEALTH_PATH)
    # The user's image has a command, and may lack a program for a health check.
    return _server(
        image,
        **({"command": command} if command else {}),
        environment=settings,
        volumes=[_secrets_of(owner) for owner in (PUBLIC, component) if f"{SECRETS / owner}/" in text],
        depends_on={POSTGRES: STARTED, JOB: DONE},
        **({"healthcheck": _health_check(asks)} if command else {}),
    )


def _envoy(plan: EdgePlan, root: str) -> Service:
    descriptor = [_file(f"{root}/{DESCRIPTOR.relative_to(ROOT)}", _at(DESCRIPTOR.name))]
    return _server(
        _image(ENVOY_IMAGE),
        command=["-c", _at(ENVOY_FILE), *OPTIONS, ALONE, "--file-flush-interval-msec", "1000"],
        volumes=[_file(f"./{FOLDER / ENVOY_FILE}", _at(ENVOY_FILE)), *(descriptor if plan.topology.transcodes else [])],
        ports=[_publish(EDGE, plan.listen.port)],
        depends_on=_all_of(plan.topology),
        healthcheck=_health_check(_check_http(plan.admin.port, "/ready")),
    )


def _kong(plan: EdgePlan) -> Service:
    own = {**kong.settings(plan), "KONG_PREFIX": "/tmp/kong", "KONG_DECLARATIVE_CONFIG": _at(KONG_FILE)}  # noqa: S108 - inside the container only
    return _server(
        f"${{KONG_IMAGE:-{KONG_IMAGE}}}",
        memory="1g",
        profiles=["kong"],
        environment={name: _escape(value) for name, value in own.items()},
        volumes=[_file(f"./{FOLDER / KONG_FILE}", _at(KONG_FILE))],
        ports=[_publish(KONG, plan.listen.port)],
        depends_on=_all_of(plan.topology),
        healthcheck=_health_check(["kong", "health"]),
    )


def _exporter() -> Service:
    return _server(
        f"${{POSTGRES_EXPORTER_IMAGE:-{EXPORTER_IMAGE}}}",
        command=OF_POSTGRES.listens_at(PLACES.listens(metrics_port(EXPORTER))),
        environment={"DATA_SOURCE_NAME": with_sslmode(_url(MONITOR_ROLE, POSTGRES)), **_password_of(EXPORTER)},
        volumes=[_secrets_of(EXPORTER)],
        depends_on={POSTGRES: STARTED, JOB: DONE},
    )


def _prometheus(root: str) -> Service:
    config, rules = _OF_PROMETHEUS / PROMETHEUS_FILE, _OF_PROMETHEUS / ALERT_RULES.name
    listens = PLACES.listens(PROMETHEUS)
    return _server(
        f"${{PROMETHEUS_IMAGE:-{PROMETHEUS_IMAGE}}}",
        memory="1g",
        command=options(config, Path("/tmp/prometheus"), listens),  # noqa: S108 - inside the container only
        volumes=[
            _file(f"./{FOLDER / PROMETHEUS_FILE}", config),
            _file(f"{root}/{ALERT_RULES.relative_to(ROOT)}", rules),
        ],
        ports=[_publish(PROMETHEUS, listens.port)],
    )


def _grafana(root: str) -> Service:
    read = [_file(f"./{FOLDER}/grafana-{name}.yaml", _OF_GRAFANA / name / "shop.yaml") for name in GRAFANA_READS]
    return _server(
        f"${{GRAFANA_IMAGE:-{GRAFANA_IMAGE}}}",
        environment={
            "GF_AUTH_ANONYMOUS_ENABLED": "true",  # visitors can only read
            "GF_ANALYTICS_REPORTING_ENABLED": "false",
            "GF_ANALYTICS_CHECK_FOR_UPDATES": "false",
            "GF_PATHS_DATA": "/tmp/grafana",  # noqa: S108 - inside the container only
        },
        volumes=[*read, _file(f"{root}/{DASHBOARDS.relative_to(ROOT)}", _OF_GRAFANA / "json")],
        ports=[_publish(GRAFANA, GRAFANA_PORT)],
    )


def _image(target: str) -> str:
    """The name of one of the project's images; `make images` with the same settings builds the same image."""
    return f"${{IMAGE_PREFIX:-{PREFIX}}}/{target}:${{IMAGE_TAG:-compose}}"


def _all_of(topology: Topology) -> dict[str, Service]:
    """Makes a service wait until each component is healthy, or has started if the component has no health check."""
    theirs = {name for name, program in topology.programs.items() if program.image}
    return {name: STARTED if name in theirs else HEALTHY for name in topology.components}


def _with_builds(services: Mapping[str, Service], root: str) -> dict[str, Service]:
    """Lets the first service that uses an image of the project build that image."""
    targets = {_image(target): target for target in TARGETS}
    built = {}
    for name, service in services.items():
        if target := targets.pop(service["image"], None):
            arguments = {"BASE_IMAGE": f"${{BASE_IMAGE:-{BASE_IMAGE}}}"}
            build = {"context": root, "dockerfile": CONTAINERFILE.name, "target": target, "args": arguments}
            service = {"image": service["image"], "build": build, **service}
        built[name] = service
    return built


def _networks(topology: Topology, *, metrics: bool) -> dict[str, set[str]]:
    """The services in each network. Each caller shares a network with its callees; the database is in a separate
    network, so that neither an edge nor a gateway can reach it."""
    called = {caller: set(callees) for caller, callees in links(topology, Switches()).items() if caller != LOAD}
    if not topology.needs_envoy:
        called[KONG] = called[EDGE]
    networks = {caller: {caller, *callees} for caller, callees in called.items()}
    networks[POSTGRES] = {POSTGRES, JOB, *topology.services}
    if metrics:
        for name in (*topology.components, EDGE):
            networks[name].add(PROMETHEUS)
        networks[POSTGRES].add(EXPORTER)
        networks |= {EXPORTER: {EXPORTER, PROMETHEUS}, GRAFANA: {GRAFANA, PROMETHEUS}}
    return networks


def _with_networks(services: Mapping[str, Service], networks: Mapping[str, set[str]]) -> dict[str, Service]:
    """Connects each service with the networks that it belongs to; a service outside of all of them has no network."""
    joined = {name: [network for network, members in networks.items() if name in members] for name in services}
    return {
        name: {**service, **({"networks": joined[name]} if joined[name] else {"network_mode": "none"})}
        for name, service in services.items()
    }


def _server(image_name: str, **content: Any) -> Service:
    """A service that runs until it is stopped."""
    return _container(image_name, restart="unless-stopped", **{"stop_grace_period": "30s", **content})


def _task(image_name: str, **content: Any) -> Service:
    """A task that runs to its end before others start."""
    return _container(image_name, restart="no", **content)


def _container(image_name: str, *, memory: str = "512m", **content: Any) -> Service:
    """A container that may write only to `/tmp` and its volumes, and has no privileges."""
    return {
        "image": image_name,
        **content,
        "user": f"{USER}:{USER}",
        "read_only": True,
        "tmpfs": ["/tmp"],  # noqa: S108 - inside the container only
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "cpus": CPUS,
        "mem_limit": memory,
        "pids_limit": 512,
    }


def _publish(service: str, port: int) -> str:
    variable, default = PUBLISHED[service]
    return f"{HOST}:${{{variable}:-{default}}}:{port}"


def _secrets_of(owner: str, mode: str = "ro") -> str:
    return f"secrets-{owner}:{SECRETS / owner}:{mode}"


def _file(source: str, target: str | Path) -> str:
    # The option z lets containers read the file under SELinux.
    return f"{source}:{target}:ro,z"


def _at(name: str) -> str:
    """The path of one of the edge's files in its container."""
    return str(CONFIG / name)


def _url(role: str, name: str) -> str:
    (place,) = PLACES.endpoints(POSTGRES)
    return f"postgresql://{role}@{place}/{name}"


def _password_of(owner: str) -> dict[str, str]:
    return {"PGPASSFILE": str(SECRETS / owner / "pgpass")}


def _health_check(command: Sequence[str]) -> Service:
    test = ["CMD", *map(_escape, command)]
    return {"test": test, "interval": "10s", "timeout": "5s", "retries": 3, "start_period": "30s"}


def _check_http(port: int, path: str) -> list[str]:
    request = f"GET {path} HTTP/1.1\\r\\nhost: {HOST}\\r\\nconnection: close\\r\\n\\r\\n"
    answered = "read -r status <&3 && [[ $status == *' 200 '* ]]"
    return ["bash", "-c", f"exec 3<>/dev/tcp/{HOST}/{port} && printf '{request}' >&3 && {answered}"]


def _escape(text: str) -> str:
    """Escapes text so that Compose substitutes no variables in it."""
    return text.replace("$", "$$")
