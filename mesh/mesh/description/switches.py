"""The switches, which are independent of the topology. Each switch is declared once, here.

The options of every command, make's settings, the switches in results and the table in docs/settings.md are made from
these entries. The table of commands (`hopwise.table`) says which commands take a switch. make imports this module
before anything is installed: topologies need pydantic, so they are imported where a value is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from hopwise.table import ALL_SWITCHES, COMMANDS, TARGETS, Setting
from mesh.description.network import NAMES, VISITS, Network, read_bandwidth, read_rtt
from mesh.description.switch_values import (
    ENTRY,
    Hold,
    Need,
    Switch,
    Values,
    aborts,
    choice,
    delays,
    entry,
    holds,
    implementations,
    journey_kind,
    replicas,
    share,
    whole,
)
from mesh.errors import SwitchError

MAX_CONNECTIONS = 1000
MAX_LOAD_NODES = 32
HTTP2, HTTP3 = 2, 3
MIN_ISTIO_DELAY_MS = 1.0

AN_EDGE = Need(lambda given: given.edge != "none", "an edge; give edge=envoy or edge=kong, or {name}={default}")
A_MESH = Need(lambda given: given.meshed, "a mesh, whose sidecars do this; give mesh=envoy or mesh=istio too")
ISTIO = Need(lambda given: given.mesh == "istio", "mesh=istio: only Istio has this control plane")
A_NETWORK = Need(
    lambda given: given.emulates_network, "a network; give network, rtt or bandwidth too, or {name}={default}"
)
A_CLUSTER = Need(lambda given: given.in_cluster, "runtime=kubernetes; natively, one generator sends all requests")


@dataclass(frozen=True)
class Switches:
    """How a topology is run: the value of each switch, under the name that it has in results.

    Attributes:
        networks: Each channel's network, if the workload sets it and no switch overrides it.
    """

    edge: str = entry("edge", "envoy", choice("Edge proxy in front of the topology", "envoy", "kong", "none"))
    plugins: str = entry(
        "edge", "none", choice("What the edge does in addition to routing", "none", "typical", "all"), AN_EDGE
    )
    tls: str = entry("edge", "off", choice("TLS 1.3 between client and edge", "off", "on"), AN_EDGE)
    edge_cache: str = entry(
        "edge",
        "none",
        choice(
            "Shared HTTP cache near the customers, in front of the edge and of the emulated network", "none", "varnish"
        ),
        AN_EDGE,
    )
    mesh: str = entry("sidecars", "none", choice("Sidecar mesh", "none", "envoy", "istio"))
    mtls: str = entry("sidecars", "off", choice("Mutual TLS between sidecars", "off", "on"), A_MESH)
    istiod: str = entry(
        "sidecars",
        "restart",
        choice(
            "Whether Istio's control plane is restarted when it dies; the run continues either way", "restart", "leave"
        ),
        ISTIO,
    )
    canary: int = entry(
        "sidecars", 0, whole("Percent of calls to product that go to a second instance, the canary", 0, 100), A_MESH
    )
    admission: str = entry(
        "edge",
        "off",
        choice("Whether edge, gateways and services refuse requests that they cannot answer in time", "off", "on"),
        AN_EDGE,
    )
    replicas: Mapping[str, int] = entry(
        "components",
        {},
        Values(
            "Processes to run per component, such as graphql-gateway:2,product:2.",
            "graphql-gateway:2,product:2",
            replicas,
        ),
    )
    implementation: Mapping[str, str] = entry(
        "components",
        {},
        Values(
            "Components to run as a program other than the Python one, such as product:go.",
            "product:go",
            implementations,
        ),
    )
    apart: str = entry(
        "components",
        "",
        Values(
            "Kind of journey that gets separate gateways and services behind the edge, such as bulk_lines.",
            "bulk_lines",
            journey_kind,
        ),
        Need(lambda given: given.edge != "none", "an edge, which routes these journeys; give edge=envoy or edge=kong"),
    )
    store: str = entry(
        "services", "postgres", choice("Where the services keep their data while they run", "postgres", "memory")
    )
    updates: str = entry(
        "services", "off", choice("Whether a notification service sends customers updates of their orders", "off", "on")
    )
    cache: str = entry(
        "services", "none", choice("Cache that is read before the database, for products and users", "none", "valkey")
    )
    runtime: str = entry(
        "everything",
        "native",
        choice("Where everything runs: this machine, or the current kubectl context", "native", "kubernetes"),
    )
    load_nodes: int = entry(
        "generator", 1, whole("Load generators in the cluster that share the tape", 1, MAX_LOAD_NODES), A_CLUSTER
    )
    trace: float = entry("tracing", 0.2, Values("Share of journeys to trace, 0 to 1.", "0 to 1", share))
    tracing: str = entry(
        "tracing",
        "lean",
        choice("What records the components' spans: the instrument, or OpenTelemetry's SDK", "lean", "sdk"),
    )
    metrics: str = entry("components", "off", choice("Whether the components expose metrics on a port", "off", "on"))
    scale: int = entry(
        "data", 1, whole("Scale of the generated data, in units of 10,000 users, products and orders", 1, 100)
    )
    payload: str = entry(
        "data",
        "1KB",
        choice("Size of the documents that the journey document reads", "100B", "1KB", "10KB", "100KB", "1MB"),
    )
    http: int = entry("clients", 2, choice("HTTP version between client and edge", "1", "2", "3", to=int))
    network: str = entry("customers' network", "loopback", choice("Network between each customer and the edge", *NAMES))
    rtt_ms: float | None = entry(
        "customers' network",
        None,
        Values(
            "Round-trip time between customer and edge, such as 40ms, 0 to 2s; replaces the network's.",
            "40ms",
            read_rtt,
        ),
        name="rtt",
    )
    bandwidth: str = entry(
        "customers' network",
        "",
        Values(
            "Each customer's bandwidth, down/up, such as 10mbit/2mbit; replaces the network's.",
            "10mbit/2mbit",
            read_bandwidth,
        ),
    )
    visit: str = entry(
        "customers' network",
        "warm",
        choice("With a network, whether customers' connections are open already", *VISITS),
        A_NETWORK,
    )
    connections: int = entry(
        "clients", 4, whole("Client connections to the edge, or without one to each gateway", 1, MAX_CONNECTIONS)
    )
    reuse: str = entry(
        "clients", "on", choice("Whether clients keep connections, or open one for each request (off)", "on", "off")
    )
    persisted: str = entry(
        "clients",
        "on",
        choice("Whether clients send hashes of GraphQL documents, or their full text (off)", "on", "off"),
    )
    compression: str = entry(
        "clients",
        "json",
        choice("Which answers clients accept compressed (JSON, none, or gRPC's messages too)", "json", "off", "all"),
    )
    client_cache: str = entry(
        "clients", "off", choice("Whether clients cache answers, and revalidate them", "off", "on")
    )
    selection: str = entry(
        "clients",
        "graphql",
        choice("Which clients request only fields on screens (GraphQL's, none, or all)", "graphql", "off", "all"),
    )
    delay_ms: Mapping[str, float] = entry(
        "components",
        {},
        Values("Delay to inject per component, such as payment:2ms,user:500us.", "payment:2ms,user:500us", delays),
        name="delay",
    )
    hold: Mapping[str, Hold] = entry(
        "components",
        {},
        Values("Component to keep busy at every Nth request, such as order:20ms/10.", "order:20ms/10", holds),
    )
    abort_share: Mapping[str, float] = entry(
        "sidecars",
        {},
        Values("Share of calls to fail per component, such as payment:1%.", "payment:1%,user:0.5%", aborts),
        A_MESH,
        name="abort",
    )
    networks: Mapping[str, Network] = field(default_factory=dict, hash=False)

    @property
    def customers_network(self) -> Network:
        """The network between every customer and the edge, unless `networks` has one for each channel."""
        return Network(self.network, self.rtt_ms, self.bandwidth)

    @property
    def emulates_network(self) -> bool:
        """Whether each customer has a separate emulated link with separate connections."""
        return self.customers_network.is_emulated or bool(self.networks)

    @property
    def has_edge(self) -> bool:
        """Whether a proxy is in front of the topology."""
        return self.edge != "none"

    @property
    def has_edge_cache(self) -> bool:
        """Whether a shared cache answers clients in front of the edge."""
        return self.edge_cache != "none"

    @property
    def meshed(self) -> bool:
        """Whether each component has a sidecar."""
        return self.mesh != "none"

    @property
    def encrypted(self) -> bool:
        """Whether sidecars authenticate each other and encrypt their traffic."""
        return self.mtls == "on"

    @property
    def scheme(self) -> str:
        """Scheme of the URLs at which clients reach the topology."""
        return "https" if self.tls == "on" else "http"

    @property
    def in_cluster(self) -> bool:
        """Whether everything runs in a Kubernetes cluster."""
        return self.runtime == "kubernetes"

    def as_dict(self) -> dict[str, Any]:
        """The switches as they are written into results."""
        return asdict(self)


SWITCHES: Mapping[str, Switch] = {
    switch.name: switch
    for switch in (one.metadata[ENTRY](one.name) for one in fields(Switches) if ENTRY in one.metadata)
}
"""Every switch by its name on command lines."""
_NETWORK = ("network", "rtt", "bandwidth")


def settings_of(command: str) -> tuple[Setting, ...]:
    """Returns the settings of a command in the table, including switches, with their help."""
    settings: list[Setting] = []
    for setting in (TARGETS.get(command) or COMMANDS[command]).settings:
        if isinstance(setting, Setting):
            settings.append(setting)
            continue
        switches = SWITCHES.values() if setting.name == ALL_SWITCHES else [SWITCHES[setting.name]]
        for switch in switches:
            own = "" if switch.default is None or switch.default == {} else str(switch.default)
            settings.append(Setting(switch.name, own if setting.default is None else setting.default, switch.help))
    return tuple(settings)


def parse_switches(networks: Mapping[str, Network] | None = None, /, **given: str | float | None) -> Switches:
    """Checks the switches that a user gave.

    Args:
        networks: Each channel's network, which applies unless the user gave `network`, `rtt` or `bandwidth`.
        given: Values by the names of `SWITCHES`; None or an empty text stands for the default.

    Raises:
        SwitchError: A switch has an invalid value; the message lists the valid values.
    """
    read = {
        SWITCHES[name].field: SWITCHES[name].read(name, str(value))
        for name, value in given.items()
        if value not in (None, "")
    }
    switches = Switches(**read)
    if networks and not any(given.get(name) for name in _NETWORK):
        switches = replace(switches, networks=dict(networks))
    if switches.emulates_network:
        switches = _with_network(switches, given)
    _require_connections_to_keep(switches, given)
    if switches.client_cache == "on" and switches.visit == "first":
        raise SwitchError(
            "client_cache=on with visit=first: new customers have no cached answers to revalidate; give "
            "visit=warm, or client_cache=off."
        )
    if switches.edge == "none" and not given.get("http"):
        # Not every command has the setting http.
        switches = replace(switches, http=1)
    if switches.edge == "none" and switches.http > 1:
        raise SwitchError("edge=none needs http=1: without an edge, clients reach gateways that speak HTTP/1.1 only.")
    if switches.http == HTTP3:
        if switches.edge != "envoy":
            raise SwitchError(
                f"http=3 with edge={switches.edge}, which speaks HTTP/1.1 and 2 only; give edge=envoy, or http=2."
            )
        if given.get("tls") == "off":
            raise SwitchError("http=3 with tls=off: QUIC is always encrypted; give tls=on or leave it out, or http=2.")
        switches = replace(switches, tls="on")
    if switches.edge == "none" and switches.meshed:
        raise SwitchError(
            f"edge=none with mesh={switches.mesh}: clients are outside of the mesh and enter it through the edge; "
            "give edge=envoy or edge=kong, or mesh=none."
        )
    for switch in SWITCHES.values():
        if switch.needs and getattr(switches, switch.field) != switch.default and not switch.needs.met(switches):
            what_is_needed = switch.needs.what.format(name=switch.name, default=switch.default)
            raise SwitchError(f"{switch.name}={given.get(switch.name, '')} needs {what_is_needed}.")
    _require_one_store(switches)
    if switches.cache != "none":
        reason = "the cache runs on this machine, in front of the services' database"
        _require_defaults(switches, f"cache={switches.cache}", ("runtime", "store"), reason, ", or cache=none")
    _require_fit_for_edge_cache(switches)
    if switches.apart:
        reason = (
            "separate components for a kind of journey run only on this machine, without a mesh and with PostgreSQL"
        )
        _require_defaults(switches, f"apart={switches.apart}", ("mesh", "runtime", "store"), reason)
    from mesh.description.topology import GATEWAYS

    if switches.edge == "none" and (alone := sorted(set(switches.replicas) & set(GATEWAYS))):
        raise SwitchError(
            f"edge=none with replicas of {' and '.join(alone)}: without an edge, nothing balances clients' requests "
            "across a gateway's replicas; give edge=envoy, or replicas of services only."
        )
    for component, delay in switches.delay_ms.items():
        if switches.mesh == "istio" and delay < MIN_ISTIO_DELAY_MS:
            raise SwitchError(
                f"delay={component}:{delay:g}ms: Istio injects delays of {MIN_ISTIO_DELAY_MS:g} ms or more; "
                "give a longer delay, or mesh=envoy."
            )
    _require_fit_for_runtime(switches)
    return switches


def _with_network(switches: Switches, given: Mapping[str, str | float | None]) -> Switches:
    """Turns TLS on for customers at a distance, unless the user has set `tls`."""
    cause = next((f"{name}={given[name]}" for name in reversed(_NETWORK) if given.get(name)), "the workload's networks")
    if switches.in_cluster:
        raise SwitchError(
            f"{cause} with runtime=kubernetes: between the load's pods and the edge is the cluster's own network, "
            "and no network is emulated; give runtime=native, or network=loopback."
        )
    if given.get("tls") or switches.has_edge_cache:
        return switches
    if switches.edge == "none":
        raise SwitchError(
            f"{cause} with edge=none: customers at a distance reach the shop over TLS, which needs an edge; give "
            "edge=envoy or edge=kong, or tls=off."
        )
    return replace(switches, tls="on")


def _require_connections_to_keep(switches: Switches, given: Mapping[str, str | float | None]) -> None:
    """If each request opens a new connection, refuses settings for connections that stay open."""
    if switches.reuse == "on":
        return
    if given.get("connections"):
        raise SwitchError(
            f"reuse=off with connections={switches.connections}: each request opens its own connection; leave "
            "connections out, or give reuse=on."
        )
    if switches.emulates_network and switches.visit != "first":
        raise SwitchError(
            f"reuse=off with visit={switches.visit}: connections of a warm visit are open already; give "
            "visit=first, or reuse=on."
        )


def _require_one_store(switches: Switches) -> None:
    """If services keep their data in memory, refuses settings that run a service as several processes."""
    from mesh.description.topology import SERVICES

    if switches.store != "memory":
        return
    if switches.canary:
        raise SwitchError(
            f"store=memory with canary={switches.canary}: two product services would keep two stocks; "
            "give store=postgres, or no canary."
        )
    if several := sorted(set(switches.replicas) & set(SERVICES)):
        raise SwitchError(
            f"store=memory with replicas of {' and '.join(several)}: each replica would keep separate data; "
            "give store=postgres, or replicas of gateways only."
        )
    if switches.updates == "on":
        raise SwitchError(
            "store=memory with updates=on: updates wait in the database until they are delivered; "
            "give store=postgres, or updates=off."
        )


def _require_defaults(switches: Switches, cause: str, names: Sequence[str], reason: str, otherwise: str = "") -> None:
    """Refuses a cause with values of these switches other than their defaults."""
    for name in names:
        if (value := getattr(switches, name)) != (default := SWITCHES[name].default):
            raise SwitchError(f"{cause} with {name}={value}: {reason}; give {name}={default}{otherwise}.")


def _require_fit_for_edge_cache(switches: Switches) -> None:
    """Refuses an edge cache if another setting needs the customers' own connections, or must bypass the cache."""
    if not switches.has_edge_cache:
        return
    for name, remedy, reason in (
        ("http", (1, 2), "Varnish speaks HTTP/1.1 and HTTP/2 only"),
        ("tls", ("off",), "Varnish speaks no TLS, and nothing in front of it terminates TLS"),
        ("mesh", ("none",), "calls that invalidate the cache would bypass the sidecars"),
        ("runtime", ("native",), "the cache runs on this machine"),
        ("updates", ("off",), "streams of updates need connections that the cache does not forward"),
        ("admission", ("off",), "the edge identifies callers by address, but sees the cache's"),
        ("visit", ("warm",), "the network lies behind the cache, whose connections to the edge stay open"),
    ):
        if (value := getattr(switches, name)) not in remedy:
            valid = " or ".join(f"{name}={one}" for one in remedy)
            raise SwitchError(
                f"{name}={value} with edge_cache={switches.edge_cache}: {reason}; give {valid}, or edge_cache=none."
            )
    if switches.networks:
        raise SwitchError(
            f"edge_cache={switches.edge_cache} with the workload's networks: all channels share the network behind the "
            "cache; give network, rtt or bandwidth, or edge_cache=none."
        )


def _require_fit_for_runtime(switches: Switches) -> None:
    if not switches.in_cluster:
        return
    if switches.mesh == "envoy":
        raise SwitchError(
            "mesh=envoy with runtime=kubernetes: a cluster has no mesh but Istio; give mesh=istio, or leave mesh out."
        )
    if switches.tls == "on":
        cause = "http=3" if switches.http == HTTP3 else "tls=on"
        raise SwitchError(
            f"{cause} with runtime=kubernetes: the load's pods reach the edge without TLS, and a cluster's own gateway "
            f"terminates the TLS of other clients; give {'http=2' if switches.http == HTTP3 else 'tls=off'}, or "
            "runtime=native."
        )
    if switches.store == "memory":
        raise SwitchError("store=memory with runtime=kubernetes: give store=postgres, which is the default.")
    _require_defaults(switches, "runtime=kubernetes", ("istiod",), "Kubernetes restarts a control plane that dies")


def delays_in_words(delay_ms: Mapping[str, float]) -> str:
    """Describes which components are slowed and by how much: `payment by 2 ms, product by 0.5 ms`; empty for none."""
    return ", ".join(f"{component} by {delay:g} ms" for component, delay in delay_ms.items())


def aborts_in_words(abort_share: Mapping[str, float]) -> str:
    """Describes which components' calls are aborted and how often: `1 % of calls to payment`; empty for none."""
    return ", ".join(f"{100 * share:g} % of calls to {component}" for component, share in abort_share.items())
