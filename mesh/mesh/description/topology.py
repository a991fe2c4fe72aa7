"""A topology: the components, and the protocol of every link between them, as data."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from itertools import combinations
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from mesh.errors import TopologyError
from mesh.paths import TOPOLOGIES
from user_files.mistakes import validate
from user_files.yaml_file import YamlFile


class Protocol(StrEnum):
    """Protocol of a link."""

    GRPC = "grpc"
    REST = "rest"
    GRAPHQL = "graphql"
    THRIFT = "thrift"
    THRIFT_JSON = "thrift-json"
    CONNECT = "connect"
    FEDERATION = "federation"
    """GraphQL of a subgraph, which a router joins with other subgraphs."""


class Library(StrEnum):
    """Library through which the load generator speaks gRPC."""

    GRPC = "grpc-go"
    CONNECT = "connect-go"


class Channel(StrEnum):
    """Kind of client that sends a journey."""

    WEB = "web"
    MOBILE = "mobile"
    PARTNER = "partner"


class Plan(StrEnum):
    """How a topology makes use of its protocols."""

    BEST = "best"
    NAIVE = "naive"
    STREAMING = "streaming"


SERVICES: Mapping[str, frozenset[str]] = {
    "product": frozenset(),
    "user": frozenset(),
    "payment": frozenset(),
    "order": frozenset({"product", "user", "payment"}),
    "notification": frozenset({"order", "user"}),
}
"""The services, callees before their callers, and which other services each service calls."""

NOTIFICATION = "notification"
"""The service that runs only with `updates=on`; a topology need not have it."""

DELIVERIES: Mapping[str, frozenset[str]] = {"order": frozenset({NOTIFICATION})}
"""Links over which a service notifies another service. No call waits for a delivery, so the other service may call
back, and either may start first."""

GATEWAYS: Mapping[str, Protocol] = {"graphql-gateway": Protocol.GRAPHQL, "rest-gateway": Protocol.REST}
"""The components between the edge and the services, and the protocol of their clients."""

CLIENT, TRANSCODER, GRPC_WEB = "client", "transcoder", "grpc-web"
"""Callers that are not separate components: the client itself, and the edge, which turns REST or gRPC-Web into gRPC."""

OUTSIDE = (CLIENT, TRANSCODER, GRPC_WEB)
"""Callers whose calls reach services through the edge."""

SERVICES_ENTRY = "services"
"""Entry of a channel whose client composes its journeys from the services' answers."""

EDGE = "edge"
"""The proxy in front of the topology."""

EDGE_CACHE = "edge-cache"
"""The shared cache between clients and edge, with `edge_cache`."""

ENTRIES = (*GATEWAYS, SERVICES_ENTRY, TRANSCODER, GRPC_WEB)
"""The entries that a channel may have."""

SERVES: Mapping[str, frozenset[Protocol]] = {
    **dict.fromkeys(SERVICES, frozenset(Protocol)),
    NOTIFICATION: frozenset({Protocol.GRPC, Protocol.REST, Protocol.GRAPHQL}),
    **{gateway: frozenset({protocol}) for gateway, protocol in GATEWAYS.items()},
}
"""Which protocols each component can serve; a link may use no other protocol."""

CALLS: Mapping[str, frozenset[str]] = {
    **{service: called | DELIVERIES.get(service, frozenset()) for service, called in SERVICES.items()},
    **dict.fromkeys((*GATEWAYS, CLIENT, TRANSCODER), frozenset(SERVICES)),
    # There are no updates over gRPC-Web.
    GRPC_WEB: frozenset(SERVICES) - {NOTIFICATION},
}
"""Which components each caller needs a link to."""

CLIENT_SPEAKS: Mapping[Protocol, str] = {
    Protocol.GRPC: "grpc",
    Protocol.REST: "rest-services",
    Protocol.GRAPHQL: "graphql-services",
    Protocol.THRIFT: "thrift",
    Protocol.THRIFT_JSON: "thrift-json",
    Protocol.CONNECT: "connect",
}
"""The request format of a client that composes its journeys, by the protocol of its links."""

ROUTER = "graphql-gateway"
"""The gateway that a router replaces; the router joins subgraphs."""

BY_CONNECT = "grpc-connect-client"
"""The request format of a client that speaks gRPC through `Library.CONNECT`."""

CACHEABLE = ("graphql", "rest", "rest-services")
"""Request formats whose answers a shared cache keeps: clients read by GET, and some answers are public."""
UNCACHED: Mapping[str, str] = {
    "grpc": "gRPC's calls are POST requests over HTTP/2, and Varnish sends HTTP/1.1 to the edge",
    "thrift": "framed Thrift is not HTTP",
    "thrift-json": "Thrift's calls are POST requests",
    "rest-transcoded": "the transcoder marks every answer as private",
    "federation": "the router marks no answer as public",
    "graphql-services": "the services' own GraphQL marks no answer as public",
}
"""Why a shared cache keeps no answers in the other request formats."""

SPEAKS: Mapping[str, frozenset[Protocol]] = {
    # Connect is for clients; components use gRPC. Only a router, which replaces a gateway, queries subgraphs.
    **dict.fromkeys((*SERVICES, "rest-gateway"), frozenset(Protocol) - {Protocol.CONNECT, Protocol.FEDERATION}),
    ROUTER: frozenset(Protocol) - {Protocol.CONNECT},
    CLIENT: frozenset(CLIENT_SPEAKS),
    **dict.fromkeys((TRANSCODER, GRPC_WEB), frozenset({Protocol.GRPC})),
}
"""Which protocols each caller can speak."""

PYTHON = "python"
"""The implementation that exists for every component."""

BUILT_IN: Mapping[str, Mapping[str, frozenset[Protocol]]] = {
    "go": {"product": frozenset({Protocol.GRPC, Protocol.REST}), "graphql-gateway": frozenset({Protocol.GRAPHQL})},
    "hive": {ROUTER: frozenset({Protocol.GRAPHQL})},
}
"""The project's other implementations: the components of each, and the protocols that they serve."""

CALLS_OVER: Mapping[str, Protocol] = {"go": Protocol.GRPC, "hive": Protocol.FEDERATION}
"""The protocol over which programs of these implementations call services."""

MAX_NAME = 60
"""Maximum number of characters in a topology's name."""
_NAME = r"^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$"
_NAME_HINT = "use letters and digits, with single hyphens between them, such as my-topology"


class Program(BaseModel):
    """A replacement for a Python component: another implementation (of `BUILT_IN`), or the user's program.

    Attributes:
        command: A command line; a relative path to its program starts at the folder of the topology's file.
        image: The program's image, for a cluster and Compose, which start the image's entry point.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    implementation: str = ""
    command: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    image: str = ""

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Program:
        if bool(self.implementation) == bool(self.command or self.image):
            raise ValueError(
                "needs either implementation, or at least one of command and image, such as {command: [./product]}"
            )
        return self


class Topology(BaseModel):
    """Which components run, which calls which, and over which protocol.

    Attributes:
        name: Letters, digits and hyphens, as folders of results are named after it.
        entry: Where each channel's requests go behind the edge, one of `ENTRIES`.
        links: Callees of each caller, with the protocol of the link.
        plan: `naive` sends a request for each item and does not use batches; with `streaming`, gRPC clients read a
            document as a stream. By default, a topology does neither.
        library: `connect-go` also speaks gRPC-Web and Connect, and is for comparing them with gRPC.
        programs: Programs that replace Python components, by the component's name.
        checkout: Folder of the checkout that supplies components and data, absolute or relative to this checkout; empty
            for this checkout. Topology files cannot set it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(pattern=_NAME, max_length=MAX_NAME)]
    about: str
    entry: dict[Channel, str]
    links: dict[str, dict[str, Protocol]]
    plan: Plan = Plan.BEST
    library: Library = Field(default=Library.GRPC, exclude_if=lambda library: library is Library.GRPC)
    programs: dict[str, Program] = Field(default_factory=dict)
    checkout: str = Field(default="", exclude_if=lambda folder: not folder)

    @property
    def gateways(self) -> list[str]:
        """The gateways through which channels enter, each once, in the order of the channels."""
        return list(dict.fromkeys(entry for entry in self.entry.values() if entry in GATEWAYS))

    @property
    def entered_by_gateways(self) -> bool:
        """Whether every channel enters through a gateway, so that clients can do without an edge."""
        return all(entry in GATEWAYS for entry in self.entry.values())

    @property
    def passes_by_the_edge(self) -> bool:
        """Whether clients send framed Thrift straight to the services, because no edge here carries it."""
        return SERVICES_ENTRY in self.entry.values() and Protocol.THRIFT in self.links[CLIENT].values()

    @property
    def frames_thrift(self) -> bool:
        """Whether a link carries framed Thrift, which is not HTTP."""
        return any(Protocol.THRIFT in callees.values() for callees in self.links.values())

    @property
    def exposed(self) -> dict[str, Protocol]:
        """The services that the edge routes to directly, or that clients call without an edge, and their protocol."""
        return {callee: protocol for caller in OUTSIDE for callee, protocol in self.links.get(caller, {}).items()}

    @property
    def behind_edge(self) -> dict[str, Protocol]:
        """The gateways and services that the edge routes to, and the protocol of each."""
        return {**{gateway: GATEWAYS[gateway] for gateway in self.gateways}, **self.exposed}

    @property
    def federates(self) -> bool:
        """Whether a router joins the services' subgraphs."""
        return Protocol.FEDERATION in self.links.get(ROUTER, {}).values()

    @property
    def transcodes(self) -> bool:
        """Whether the edge turns REST requests into gRPC calls."""
        return TRANSCODER in self.entry.values()

    @property
    def translates(self) -> bool:
        """Whether the edge turns gRPC-Web into gRPC."""
        return GRPC_WEB in self.entry.values()

    @property
    def needs_envoy(self) -> bool:
        """Whether only Envoy can be this topology's edge."""
        return self.transcodes or self.translates

    @property
    def admits_browsers(self) -> bool:
        """Whether pages of other origins may call the services: in gRPC-Web or Connect, which need no cookies."""
        return self.translates or Protocol.CONNECT in self.exposed.values()

    def client_speaks(self, channel: Channel) -> str:
        """The request format of a channel's clients: `graphql`, `rest`, `rest-transcoded`, `grpc-web`, `federation`,
        `BY_CONNECT`, or one of `CLIENT_SPEAKS`, with which they compose journeys from the services' own APIs."""
        entry = self.entry[channel]
        if entry == ROUTER and self.federates:
            return Protocol.FEDERATION.value
        if entry in GATEWAYS:
            return GATEWAYS[entry].value
        if entry == TRANSCODER:
            return "rest-transcoded"
        if entry == GRPC_WEB:
            return GRPC_WEB
        (spoken,) = set(self.links[CLIENT].values())
        return BY_CONNECT if self.library is Library.CONNECT else CLIENT_SPEAKS[spoken]

    def speaks_grpc(self, channel: Channel) -> bool:
        """Whether the clients of a channel speak gRPC itself, which needs HTTP/2 and its trailers."""
        return self.client_speaks(channel) in (CLIENT_SPEAKS[Protocol.GRPC], BY_CONNECT)

    @property
    def speaks_grpc_only(self) -> bool:
        """Whether the clients of every channel speak gRPC, which always uses HTTP/2."""
        return all(self.speaks_grpc(channel) for channel in self.entry)

    @property
    def services(self) -> list[str]:
        """The services that are the target of a link, callees before their callers."""
        return [name for name in SERVICES if any(name in callees for callees in self.links.values())]

    @property
    def has_updates(self) -> bool:
        """Whether customers get updates of their orders."""
        return NOTIFICATION in self.services

    def without_updates(self) -> Topology:
        """The topology without its notification service."""
        links = {
            caller: {callee: protocol for callee, protocol in callees.items() if callee != NOTIFICATION}
            for caller, callees in self.links.items()
            if caller != NOTIFICATION
        }
        programs = {name: program for name, program in self.programs.items() if name != NOTIFICATION}
        return self.model_copy(update={"links": links, "programs": programs})

    def with_implementations(self, chosen: Mapping[str, str]) -> Topology:
        """The topology with other implementations of some components: `python` or one of `BUILT_IN`."""
        kept = {name: program for name, program in self.programs.items() if name not in chosen}
        other = {name: Program(implementation=one) for name, one in chosen.items() if one != PYTHON}
        return self.model_copy(update={"programs": {**kept, **other}}) if chosen else self

    @property
    def components(self) -> list[str]:
        """Services and gateways, callees before their callers."""
        return [*self.services, *self.gateways]

    def protocols_of(self, component: str) -> list[Protocol]:
        """The protocols that a component has to serve here, in a fixed order."""
        spoken = {callees[component] for callees in self.links.values() if component in callees}
        if component in self.gateways:
            spoken.add(GATEWAYS[component])
        return [protocol for protocol in Protocol if protocol in spoken]


def require_runnable(topology: Topology, key: str) -> None:
    """Raises a TopologyError if a program of the user lacks the key that says how to run it: `command` on this machine,
    `image` in a cluster and with Compose."""
    for name, program in topology.programs.items():
        if key == "image" and program.implementation == "hive":
            raise TopologyError(
                f"{topology.name}: {name} is hive, which has no image; run it on this machine, or give the image of a "
                f"router under programs: {name}:"
            )
        if not (program.implementation or getattr(program, key)):
            where = "a cluster and Compose need its image" if key == "image" else "this machine needs its command"
            raise TopologyError(f"{topology.name}: {name} has no {key}, and {where}; give one under programs: {name}:")


def find_unserved(topology: Topology) -> Iterator[tuple[str, str]]:
    """Yields the components that cannot run as the built-in programs that a topology names, each with the reason."""
    if topology.federates and ROUTER not in topology.programs:
        yield ROUTER, f"{ROUTER} in {PYTHON} does not call over {Protocol.FEDERATION}; give hive, or a router's command"
    for component, program in topology.programs.items():
        if component not in topology.components:
            yield component, f"{topology.name} does not run {component}; it runs {', '.join(topology.components)}"
        elif name := program.implementation:
            serves = {language: served[component] for language, served in BUILT_IN.items() if component in served}
            if name not in serves:
                yield component, f"there is no {component} in {name!r}; valid: {', '.join([PYTHON, *serves])}"
            elif lacking := [one for one in topology.protocols_of(component) if one not in serves[name]]:
                valid = ", ".join(sorted(serves[name]))
                yield component, f"{component} in {name} does not serve {', '.join(lacking)}; it serves {valid}"
            elif others := sorted({*topology.links.get(component, {}).values()} - {CALLS_OVER[name]}):
                calls = CALLS_OVER[name]
                yield component, f"{component} in {name} does not call over {', '.join(others)}; it calls over {calls}"


def port_name(component: str, protocol: Protocol) -> str:
    """The name of the port at which a component serves a protocol."""
    return component if component in GATEWAYS else f"{component}-{protocol}"


def metrics_port(component: str) -> str:
    """The name of the port at which a component exposes its metrics."""
    return f"{component}-metrics"


def entrance_name(service: str) -> str:
    """The name of the port at which a service accepts framed Thrift from clients only."""
    return f"{service}-thrift-entrance"


def names(*, updates: str = "off") -> list[str]:
    """The names of the topologies that come with the project; only those with a notification service for `updates=on`.

    Raises:
        TopologyError: One of their files is wrong; the message names the file, the line and the mistake.
    """
    files = sorted(TOPOLOGIES.glob("*.yaml"), key=lambda file: file.stem)
    return [file.stem for file in files if updates == "off" or _parse_file(file).has_updates]


def load_topology(which: str, *, updates: str = "off") -> Topology:
    """Loads a topology by its name, or from any other YAML file; with its notification service for `updates=on`.

    Raises:
        TopologyError: The topology is unknown or wrong; the message names the file, the line and the mistake.
    """
    file, problem = TOPOLOGIES / f"{which}.yaml", "" if which in names() else " is unknown"
    if which.endswith((".yaml", ".yml")) or "/" in which:
        file = Path(which).expanduser()
        problem = "" if file.is_file() else ": there is no such file"
    if problem:
        raise TopologyError(f"topology={which}{problem}. Valid: {', '.join(names())}, or the path of a YAML file.")
    topology = _parse_file(file)
    if updates == "off":
        return topology.without_updates()
    if not topology.has_updates:
        able = ", ".join(names(updates=updates))
        raise TopologyError(
            f"updates=on with topology={which}, which has no {NOTIFICATION} service. Valid: {able}, or the path of a "
            "YAML file whose links have it."
        )
    return topology


def _parse_file(file: Path) -> Topology:
    return _topology_of(YamlFile.read(file, TopologyError))


def parse_topology(text: str, source: str) -> Topology:
    """Parses and checks the text of a topology file, whose name `source` is for messages.

    Raises:
        TopologyError: The text is not YAML, has the wrong shape, or describes a system that cannot run.
    """
    return _topology_of(YamlFile(source, text, TopologyError))


def _topology_of(file: YamlFile) -> Topology:
    topology = validate(file, Topology, {_NAME: _NAME_HINT}.__getitem__)
    if problems := list(_problems(topology)):
        raise file.all_wrong(problems)
    return topology.model_copy(update={"programs": _with_absolute_paths(Path(file.source).parent, topology.programs)})


def _with_absolute_paths(folder: Path, programs: Mapping[str, Program]) -> dict[str, Program]:
    """Makes the paths of programs absolute, relative to a folder; PATH is searched for programs without a path."""
    absolute = {}
    for name, program in programs.items():
        first, *rest = program.command or ("",)
        if os.sep in first:
            program = program.model_copy(update={"command": (str((folder / first).resolve()), *rest)})
        absolute[name] = program
    return absolute


Problem = tuple[list[str], str]


def _problems(topology: Topology) -> Iterator[Problem]:
    """Yields each problem that keeps a well-formed topology from running, with its place in the file."""
    if topology.checkout:
        yield ["checkout"], "cannot be set in a file; give `make compare-versions` two revisions"
    if unknown := list(_unknown_components(topology)):
        yield from unknown
        return
    yield from _entry_problems(topology)
    waited_for = {
        caller: [callee for callee in callees if callee not in DELIVERIES.get(caller, ())]
        for caller, callees in topology.links.items()
    }
    try:
        TopologicalSorter(waited_for).prepare()
    except CycleError as error:
        callers = error.args[1][::-1]
        yield ["links", callers[0]], f"makes a cycle: {' -> '.join(callers)}"
        return
    yield from _link_problems(topology)
    yield from _mixture_problems(topology)
    # A topology is parsed with every component that updates=on starts.
    yield from ((["programs", component], problem) for component, problem in find_unserved(topology))


def _unknown_components(topology: Topology) -> Iterator[Problem]:
    for channel, component in topology.entry.items():
        if component not in SERVES and component not in ENTRIES:
            yield ["entry", channel], f"{component} is an unknown component; valid: {', '.join(ENTRIES)}"
    for caller, callees in topology.links.items():
        if caller not in CALLS:
            yield ["links", caller], f"{caller} is an unknown component; valid: {', '.join(CALLS)}"
        for callee in callees:
            if callee not in SERVES:
                yield ["links", caller, callee], f"{callee} is an unknown component; valid: {', '.join(SERVES)}"


def _entry_problems(topology: Topology) -> Iterator[Problem]:
    for channel in Channel:
        if channel not in topology.entry:
            yield ["entry"], f"channel {channel} is missing; {', '.join(Channel)} must each enter somewhere"
    for channel, component in topology.entry.items():
        if component not in ENTRIES:
            yield ["entry", channel], f"{component} cannot be an entry; valid: {', '.join(ENTRIES)}"


def _link_problems(topology: Topology) -> Iterator[Problem]:
    entries = {CLIENT if entry == SERVICES_ENTRY else entry for entry in topology.entry.values()}
    running = {*entries, *(callee for callees in topology.links.values() for callee in callees)}
    for caller, callees in topology.links.items():
        if caller not in running:
            yield ["links", caller], f"nothing leads to {caller}: no channel enters it and nothing links to it"
        for callee, protocol in callees.items():
            place = ["links", caller, callee]
            if callee not in CALLS[caller]:
                yield place, f"{caller} does not call {callee}; it calls {', '.join(sorted(CALLS[caller])) or 'nobody'}"
            elif protocol not in SERVES[callee]:
                yield place, f"{callee} does not serve {protocol}; valid: {', '.join(sorted(SERVES[callee]))}"
            elif callee == NOTIFICATION and caller in GATEWAYS and protocol is Protocol.REST:
                valid = f"{Protocol.GRPC}, {Protocol.GRAPHQL}"
                yield place, f"no gateway follows the streams of {callee} over {protocol}; valid: {valid}"
            elif callee == NOTIFICATION and caller == CLIENT and protocol is Protocol.GRAPHQL:
                valid = f"{Protocol.GRPC}, {Protocol.REST}"
                yield place, f"{callee} has no subscriptions for clients over its own {protocol}; valid: {valid}"
            elif protocol not in SPEAKS[caller]:
                yield place, f"{caller} does not speak {protocol}; valid: {', '.join(sorted(SPEAKS[caller]))}"
    for caller in sorted(running):
        # Only a service that delivers updates must have a link to the notification service.
        tells = topology.has_updates and caller in DELIVERIES
        needed = CALLS[caller] if tells else CALLS[caller] - {NOTIFICATION}
        for callee in sorted(needed - set(topology.links.get(caller, {}))):
            place = ["links", caller] if caller in topology.links else ["links"]
            yield place, f"the link {caller} -> {callee} is missing; {caller} needs it"


def _mixture_problems(topology: Topology) -> Iterator[Problem]:
    spoken = sorted(set(topology.links.get(CLIENT, {}).values()))
    if len(spoken) > 1:
        yield ["links", CLIENT], f"{CLIENT} speaks {' and '.join(spoken)}; it must speak one of them to every service"
    if spoken and topology.translates and spoken != [Protocol.GRPC]:
        yield ["links", CLIENT], f"{CLIENT} speaks {spoken[0]} where {GRPC_WEB} is an entry too; valid: {Protocol.GRPC}"
    if topology.library is Library.CONNECT and spoken != [Protocol.GRPC]:
        yield ["library"], f"{topology.library} is for a {CLIENT} that speaks {Protocol.GRPC} to the services"
    joined = set(topology.links.get(ROUTER, {}).values())
    if topology.federates and len(joined) > 1:
        others = ", ".join(sorted(joined - {Protocol.FEDERATION}))
        yield ["links", ROUTER], f"a router joins subgraphs over {Protocol.FEDERATION} only, and not over {others}"
    for one, other in combinations((TRANSCODER, SERVICES_ENTRY, "rest-gateway"), 2):
        if {one, other} <= set(topology.entry.values()):
            apart = "the edge could not tell requests below /v1 apart"
            yield ["entry"], f"{one} and {other} cannot both be entries: {apart}"
    if {"graphql-gateway", SERVICES_ENTRY} <= set(topology.entry.values()) and Protocol.GRAPHQL in spoken:
        both, apart = f"graphql-gateway and {SERVICES_ENTRY}", "the edge could not tell requests below /graphql apart"
        yield ["entry"], f"{both} over {Protocol.GRAPHQL} cannot both be entries: {apart}"
