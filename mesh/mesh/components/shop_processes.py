"""The shop's own processes: their commands and settings, made from a topology."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mesh.components.keys import KeyPair
from mesh.components.postgres import Database
from mesh.components.valkey import CACHED, Cache
from mesh.description.places import Places
from mesh.description.ports import replica_name
from mesh.description.switches import Switches
from mesh.description.topology import (
    EDGE,
    GATEWAYS,
    ROUTER,
    SERVICES,
    Plan,
    Program,
    Protocol,
    Topology,
    entrance_name,
    metrics_port,
    port_name,
)
from mesh.errors import StartError
from mesh.paths import GRAPHIQL, ROOT
from mesh.sidecars.workloads import Workload, identity
from mesh.supervisor.processes import Component
from mesh.supervisor.readiness import accepts, grpc_serving, http_ok
from provision import golang, router
from provision.errors import SetupError
from provision.router import SUPERGRAPH

SCHEMES: Mapping[Protocol, str] = {**{protocol: protocol.value for protocol in Protocol}, Protocol.REST: "http"}
TRIAL_DATABASE = "shop_trial"
DATABASE_TASK = "database"
MONITOR_ROLE = "shop_monitor"
"""The role that reads the database server's statistics, but no rows."""
CONTRACT = "1"
"""Version of the contract between a component and its surroundings (docs/system/your-component.md)."""
IMAGE = "shop"
"""Name of the image of the project's Python programs; other programs' images are named after it."""
GATEWAY_RANK, SERVICE_RANK = 1, 2
"""Stop ranks: gateways are stopped before the services that they call."""


@dataclass(frozen=True)
class Data:
    """The generated data that a run starts with; scale 1 is 10,000 users, products and orders."""

    scale: int = 1
    seed: int = 1


@dataclass(frozen=True)
class Surroundings:
    """What all processes of a run have in common.

    Attributes:
        extra: More settings, by component.
        workloads: Components with sidecars, by name; a component without a sidecar serves and calls over TCP.
        telemetry: Folder in which every process writes the account of its spans; None for no accounts.
        measured: Whether the project's programs run with the experiment's additions.
    """

    topology: Topology
    switches: Switches
    places: Places
    database: Database
    keys: KeyPair
    trial: str
    extra: Mapping[str, Mapping[str, str]]
    workloads: Mapping[str, Workload] = field(default_factory=dict)
    telemetry: Path | None = None
    cache: Cache | None = None
    measured: bool = True


def role_name(service: str) -> str:
    """The name of a service's role in the database."""
    return f"shop_{service}"


def role_passwords(database: Database, *, monitored: bool = False) -> dict[str, str]:
    """The password of each service's role, and of the monitor's role if it is created."""
    roles = [*map(role_name, SERVICES), *([MONITOR_ROLE] if monitored else [])]
    return {role: database.password(role) for role in roles}


def arguments_of(service: str, *, measured: bool) -> list[str]:
    """Python's arguments for running a service or gateway, with the experiment's additions or as in production."""
    if measured:
        return ["-m", "measured", service]
    return ["-m", service.replace("-", "_") if service in GATEWAYS else f"shop.{service}"]


def environment(component: str, around: Surroundings, replica: int = 1) -> dict[str, str]:
    """The settings of one of the shop's processes."""
    topology, switches, places = around.topology, around.switches, around.places
    workload = around.workloads.get(replica_name(component, replica))
    service = workload.service if workload else component
    env = {
        "SHOP_COMPONENT": component,
        "OTEL_SERVICE_NAME": component,
        "OTEL_EXPORTER_OTLP_ENDPOINT": places.endpoints("jaeger-otlp-grpc")[0].url,
    }
    if service in topology.programs or topology.checkout:
        env["SHOP_CONTRACT"] = CONTRACT
    # A component that clients reach directly or through a router checks their tokens; `user` also signs them.
    is_subgraph = Protocol.FEDERATION in topology.protocols_of(service)
    if service in GATEWAYS or service in topology.exposed or service == "user" or is_subgraph:
        env["SHOP_JWT_PUBLIC_KEY_FILE"] = str(around.keys.public)
    if service not in GATEWAYS:
        env["SHOP_DATABASE_URL"] = around.database.url(role_name(service), TRIAL_DATABASE)
    if around.cache is not None and service in CACHED:
        env |= {"SHOP_CACHE_URL": around.cache.url, "SHOP_CACHE_NAMESPACE": around.cache.namespace}
    for protocol in topology.protocols_of(service):
        kind = "HTTP" if service in GATEWAYS else protocol.upper().replace("-", "_")
        tcp = places.listens(port_name(service, protocol), replica)
        env[f"SHOP_LISTEN_{kind}"] = f"unix:{workload.inbound_of(protocol).socket}" if workload else str(tcp)
    if topology.passes_by_the_edge and service in topology.exposed:
        env["SHOP_LISTEN_THRIFT_ENTRANCE"] = str(places.listens(entrance_name(service), replica))
    if Protocol.GRAPHQL in topology.protocols_of(service):
        env["SHOP_GRAPHIQL"] = str(GRAPHIQL)
    if service == "graphql-gateway" and topology.plan is Plan.NAIVE:
        env["SHOP_GRAPHQL_LOADERS"] = "off"
    if service == ROUTER and topology.federates:
        env["SHOP_SUPERGRAPH"] = str(SUPERGRAPH)
    if service == "user":
        env["SHOP_JWT_PRIVATE_KEY_FILE"] = str(around.keys.private)
    for callee, protocol in topology.links.get(service, {}).items():
        reached = ",".join(map(str, places.endpoints(port_name(callee, protocol))))
        env[f"SHOP_PEER_{callee.upper()}"] = f"{SCHEMES[protocol]}://{reached}"
    for outbound in workload.outbound if workload else ():
        env[f"SHOP_PEER_{outbound.callee.upper()}"] = f"{SCHEMES[outbound.protocol]}://{outbound.authority}"
        env[f"SHOP_SOCKET_{outbound.callee.upper()}"] = str(outbound.socket)
    if switches.metrics == "on":
        env["SHOP_LISTEN_METRICS"] = str(places.listens(metrics_port(component), replica))
    if switches.encrypted:
        env["SHOP_EDGE_IDENTITY"] = identity(EDGE)
    # Other components get internal calls only, which are never refused.
    if switches.admission == "on" and (service in GATEWAYS or service in topology.exposed):
        env["SHOP_ADMISSION"] = "on"
    if switches.compression == "all" and service in topology.exposed:
        env["SHOP_GRPC_COMPRESSION"] = "on"
    if around.measured or service in topology.programs:
        env |= measurement(component, around)
    return {**env, **around.extra.get(component, {})}


def measurement(component: str, around: Surroundings) -> dict[str, str]:
    """The settings that only an experiment needs, for one of the shop's processes."""
    switches = around.switches
    env = {
        "SHOP_TOPOLOGY": around.topology.name,
        "SHOP_TRIAL": around.trial,
        "SHOP_TRACING": switches.tracing,
        **({} if component in GATEWAYS else {"SHOP_STORE": switches.store}),
    }
    # With sidecars, the callers' sidecars delay the calls.
    if component in switches.delay_ms and not switches.meshed:
        env["SHOP_DELAY_US"] = str(round(switches.delay_ms[component] * 1_000))
    if hold := switches.hold.get(component):
        env |= {"SHOP_HOLD_US": str(round(hold.ms * 1_000)), "SHOP_HOLD_EVERY": str(hold.every)}
    return env


def python_of(checkout: str) -> str:
    """The Python interpreter with a checkout's packages; `checkout` is as in `Topology`."""
    return str(ROOT / checkout / ".venv" / "bin" / "python") if checkout else sys.executable


def argv_of(component: str, program: Program | None, checkout: str = "") -> list[str]:
    """The command line of a service or gateway; a built-in program is compiled if necessary.

    Args:
        program: The program that replaces the project's Python program; None for the Python program.
        checkout: Folder of the checkout that supplies it, as in `Topology`.

    Raises:
        StartError: There is no such program, or it cannot be built.
    """
    if program is None:
        return [python_of(checkout), *arguments_of(component, measured=True)]
    try:
        if program.implementation == "hive":
            failed = f"hive for {component} cannot be fetched"
            return router.command()
        if program.implementation:
            failed = f"{component} in {program.implementation} cannot be built"
            return [str(golang.build_service(component, ROOT / checkout))]
    except SetupError as error:
        raise StartError(f"{failed}.\n{error}") from error
    if shutil.which(program.command[0]) is None:
        raise StartError(
            f"{component} (command: {shlex.join(program.command)}): there is no program {program.command[0]} "
            "to execute; name a program on PATH, or give its path."
        )
    return list(program.command)


def in_image(
    component: str, topology: Topology, ours: Callable[[str], str], *, measured: bool
) -> tuple[str, list[str]]:
    """The image that a service or gateway runs in, and its command; the user's image has an entry point instead.

    `ours` gives the full name of one of the project's own images.
    """
    program = topology.programs.get(component)
    if program is None:
        return ours(IMAGE), ["python", *arguments_of(component, measured=measured)]
    if program.implementation:
        return ours(f"{IMAGE}-{program.implementation}"), [component]
    return program.image, []


def shop_component(component: str, around: Surroundings, after: frozenset[str], replica: int = 1) -> Component:
    """What to run for a service or a gateway.

    Args:
        after: Components that must be ready before a service connects; a gateway connects on its first request and does
            not wait.
        replica: Which of the component's processes it is, from 1.

    Raises:
        StartError: The program that replaces the project's program is missing or cannot be built.
    """
    name = replica_name(component, replica)
    workload = around.workloads.get(name)
    service = workload.service if workload else component
    protocol = around.topology.protocols_of(service)[0]
    is_gateway = service in GATEWAYS
    place = around.places.listens(port_name(service, protocol), replica)
    at = workload.inbound_of(protocol).socket if workload else place.port
    if protocol is Protocol.GRPC:
        ready = grpc_serving(at, place.host)
    elif protocol is Protocol.THRIFT:
        ready = accepts(at, place.host)
    else:
        ready = http_ok(at, "/healthz", place.host)
    program = around.topology.programs.get(service)
    argv = argv_of(service, program, around.topology.checkout)
    env = {**environment(component, around, replica), "SHOP_INSTANCE": name}
    if around.telemetry is not None:
        env["SHOP_TELEMETRY_FOLDER"] = str(around.telemetry)
    return Component(
        name,
        argv=lambda: argv,
        env=env if is_gateway else {**env, "SHOP_AWAIT_STDIN": "on"},
        ready=ready,
        after=frozenset() if is_gateway else after,
        imports_meanwhile=not is_gateway,
        stop_rank=GATEWAY_RANK if is_gateway else SERVICE_RANK,
        replica_of=component if replica > 1 else "",
        command=shlex.join(program.command) if program else "",
    )


def database_task(
    database: Database, data: Data, after: frozenset[str], *, monitored: bool = False, checkout: str = ""
) -> Component:
    """The task that gives a run its data: it makes the seeded template if it is missing, then copies it.

    Args:
        monitored: Whether the monitor's role is created too.
        checkout: Folder of the checkout that has the migrations and the seed, as in `Topology`.
    """
    command = ["prepare", "--scale", str(data.scale), "--seed", str(data.seed), "--trial", TRIAL_DATABASE]
    return Component(
        DATABASE_TASK,
        argv=lambda: [python_of(checkout), "-m", "dataset", *command],
        env={
            "SHOP_ADMIN_URL": database.admin_url,
            "SHOP_ROLE_PASSWORDS": json.dumps(role_passwords(database, monitored=monitored)),
            "SHOP_AWAIT_STDIN": "on",
        },
        after=after,
        imports_meanwhile=True,
        start_limit_s=180.0 + 70.0 * data.scale,
        stop_rank=SERVICE_RANK,
        echo=True,
    )
