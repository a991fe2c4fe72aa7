"""The switches that are orthogonal to a topology: one table of their names, help texts and valid values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from mesh.description.network import MS, NAMES, TIME, VISITS, Network, read_bandwidth, read_rtt
from mesh.description.topology import GATEWAYS, SERVES, SERVICES
from mesh.errors import SwitchError

MOST_CONNECTIONS = 256
MOST_REPLICAS = 8
MOST_LOAD_NODES = 32
HTTP3 = 3
LONGEST_DELAY_MS = 1_000.0
SHORTEST_ISTIO_DELAY_MS = 1.0


@dataclass(frozen=True)
class Switches:
    """How a topology is run: the value of each switch, under the name that it has in results."""

    edge: str = "envoy"
    plugins: str = "none"
    tls: str = "off"
    mesh: str = "none"
    mtls: str = "off"
    canary: int = 0
    replicas: Mapping[str, int] = field(default_factory=dict, hash=False)
    store: str = "postgres"
    runtime: str = "native"
    load_nodes: int = 1
    trace: float = 0.2
    scale: int = 1
    http: int = 2
    network: str = "loopback"
    rtt_ms: float | None = None
    bandwidth: str = ""
    visit: str = "warm"
    connections: int = 4
    delay_ms: Mapping[str, float] = field(default_factory=dict, hash=False)
    abort_share: Mapping[str, float] = field(default_factory=dict, hash=False)
    networks: Mapping[str, Network] = field(default_factory=dict, hash=False)

    @property
    def customers_network(self) -> Network:
        """What lies between every customer and the edge, unless `networks` has one for each channel."""
        return Network(self.network, self.rtt_ms, self.bandwidth)

    @property
    def emulates_network(self) -> bool:
        """Whether each customer has an emulated link, and connections, of their own."""
        return self.customers_network.is_emulated or bool(self.networks)

    @property
    def has_edge(self) -> bool:
        """Whether a proxy stands in front of the topology."""
        return self.edge != "none"

    @property
    def meshed(self) -> bool:
        """Whether a sidecar stands beside each component."""
        return self.mesh != "none"

    @property
    def encrypted(self) -> bool:
        """Whether sidecars prove to each other who they are, and encrypt what they send."""
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


@dataclass(frozen=True)
class Switch:
    """What users may give for one switch.

    Attributes:
        help: The help text of a command's option.
        valid: The valid values, in words.
        read: Reads a value, given the switch's name; raises a SwitchError that lists the valid ones.
    """

    help: str
    valid: str
    read: Callable[[str, str], Any]


def parse_switches(networks: Mapping[str, Network] | None = None, /, **given: str | float | None) -> Switches:
    """Check the switches that a user gave.

    Args:
        networks: Each channel's network, which holds unless the user gave `network`, `rtt` or `bandwidth`.
        given: Values by the names of `SWITCHES`; None or an empty text stands for the default.

    Raises:
        SwitchError: One has a value that it cannot have; the message lists those that it can.
    """
    switches = Switches(
        **{
            _IN_RESULTS.get(name, name): SWITCHES[name].read(name, str(value))
            for name, value in given.items()
            if value not in (None, "")
        }
    )
    if networks and not any(given.get(name) for name in _NETWORK):
        switches = replace(switches, networks=dict(networks))
    if switches.emulates_network:
        switches = _with_network(switches, given)
    elif switches.visit != "warm":
        raise SwitchError(f"visit={switches.visit} needs a network; give network, rtt or bandwidth too, or visit=warm.")
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
            f"edge=none with mesh={switches.mesh}: clients are outside of the mesh and enter it by the edge; "
            "give edge=envoy or edge=kong, or mesh=none."
        )
    if switches.edge == "none" and switches.plugins != "none":
        raise SwitchError(f"plugins={switches.plugins} needs an edge; give edge=envoy or edge=kong, or plugins=none.")
    if switches.edge == "none" and switches.tls == "on":
        raise SwitchError("tls=on needs an edge, which ends TLS; give edge=envoy or edge=kong, or tls=off.")
    for name in ("mtls", "canary", "abort"):
        if not switches.meshed and getattr(switches, _IN_RESULTS.get(name, name)) not in ("off", 0, {}):
            raise SwitchError(
                f"{name}={given[name]} needs a mesh: the sidecars do it; give mesh=envoy or mesh=istio too."
            )
    _require_one_store(switches)
    if switches.edge == "none" and (alone := sorted(set(switches.replicas) & set(GATEWAYS))):
        raise SwitchError(
            f"edge=none with replicas of {' and '.join(alone)}: without an edge, nothing shares the clients' requests "
            "out among a gateway's replicas; give edge=envoy, or replicas of services only."
        )
    if switches.mesh == "istio":
        _require_istio_delays(switches.delay_ms)
    _require_fit_for_runtime(switches)
    return switches


def _with_network(switches: Switches, given: Mapping[str, str | float | None]) -> Switches:
    """Customers at a distance reach the edge over TLS, unless the user says otherwise."""
    cause = next((f"{name}={given[name]}" for name in reversed(_NETWORK) if given.get(name)), "the workload's networks")
    if switches.in_cluster:
        raise SwitchError(
            f"{cause} with runtime=kubernetes: between the load's pods and the edge lies the cluster's own network, "
            "and none is emulated; give runtime=native, or network=loopback."
        )
    if given.get("tls"):
        return switches
    if switches.edge == "none":
        raise SwitchError(
            f"{cause} with edge=none: customers at a distance reach the shop over TLS, which needs an edge; give "
            "edge=envoy or edge=kong, or tls=off."
        )
    return replace(switches, tls="on")


def _require_one_store(switches: Switches) -> None:
    """A service that keeps its data in memory must be one process."""
    if switches.store != "memory":
        return
    if switches.canary:
        raise SwitchError(
            f"store=memory with canary={switches.canary}: two product services would keep two stocks; "
            "give store=postgres, or no canary."
        )
    if several := sorted(set(switches.replicas) & set(SERVICES)):
        raise SwitchError(
            f"store=memory with replicas of {' and '.join(several)}: each replica would keep data of its own; "
            "give store=postgres, or replicas of gateways only."
        )


def _require_fit_for_runtime(switches: Switches) -> None:
    if not switches.in_cluster:
        if switches.load_nodes > 1:
            raise SwitchError(
                f"load_nodes={switches.load_nodes} needs runtime=kubernetes; here, one generator sends all."
            )
        return
    if switches.mesh == "envoy":
        raise SwitchError("mesh=envoy with runtime=kubernetes: a cluster's mesh is Istio's; give mesh=istio, or none.")
    if switches.tls == "on":
        cause = "http=3" if switches.http == HTTP3 else "tls=on"
        raise SwitchError(
            f"{cause} with runtime=kubernetes: the load's pods reach the edge without TLS, and a cluster's own gateway "
            f"ends that of other clients; give {'http=2' if switches.http == HTTP3 else 'tls=off'}, or runtime=native."
        )
    if switches.store == "memory":
        raise SwitchError("store=memory with runtime=kubernetes: give store=postgres, which is the default.")


def _require_istio_delays(delay_ms: Mapping[str, float]) -> None:
    for component, delay in delay_ms.items():
        if delay < SHORTEST_ISTIO_DELAY_MS:
            raise SwitchError(
                f"delay={component}:{delay:g}ms: Istio injects delays from {SHORTEST_ISTIO_DELAY_MS:g} ms on; "
                "give a longer one, or mesh=envoy."
            )


def delays_in_words(delay_ms: Mapping[str, float]) -> str:
    """Says which components are slowed and by how much: `payment by 2 ms, product by 0.5 ms`; empty for none."""
    return ", ".join(f"{component} by {delay:g} ms" for component, delay in delay_ms.items())


def aborts_in_words(abort_share: Mapping[str, float]) -> str:
    """Says which components' calls are aborted and how often: `1 % of calls to payment`; empty for none."""
    return ", ".join(f"{100 * share:g} % of calls to {component}" for component, share in abort_share.items())


def _choice(about: str, *valid: str, to: Callable[[str], Any] = str) -> Switch:
    """A switch with a few values."""

    def read(name: str, given: str) -> Any:
        if given not in valid:
            raise SwitchError(f"{name}={given} is unknown; valid: {', '.join(valid)}.")
        return to(given)

    in_words = " or ".join(valid)
    return Switch(f"{about}: {in_words}.", in_words, read)


def _whole(about: str, lowest: int, highest: int) -> Switch:
    def read(name: str, given: str) -> int:
        if given.isascii() and given.isdigit() and lowest <= int(given) <= highest:
            return int(given)
        raise SwitchError(f"{name}={given}: must be an integer from {lowest} to {highest}.")

    return Switch(f"{about}, {lowest} to {highest}.", f"{lowest} to {highest}", read)


def _share(name: str, given: str) -> float:
    try:
        share = float(given)
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise SwitchError(f"{name}={given}: must be a number from 0 (no journey) to 1 (every journey).")
    return share


_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?)%", re.ASCII)
_COUNT = re.compile(r"[0-9]+", re.ASCII)


def _delays(name: str, given: str) -> dict[str, float]:
    """Reads `payment:2ms,product:500us`; times are kept to the microsecond."""
    delays: dict[str, float] = {}
    for component, value in _by_component(name, given, "a delay", "TIME", "payment:2ms or payment:2ms,product:500us"):
        match = TIME.fullmatch(value)
        delay_ms = round(float(match[1]) * MS[match[2]], 3) if match else 0.0
        if not 0 < delay_ms <= LONGEST_DELAY_MS:
            raise SwitchError(f"{name}={given}: {component}:{value} is out of range; valid: above 0 (from 1us) to 1s.")
        delays[component] = delay_ms
    return delays


def _aborts(name: str, given: str) -> dict[str, float]:
    """Reads `payment:1%`; shares from 0 to 1, kept to a millionth, as Envoy keeps them."""
    shares: dict[str, float] = {}
    for component, value in _by_component(name, given, "an abort", "PERCENT", "payment:1% or payment:1%,user:0.5%"):
        match = _PERCENT.fullmatch(value)
        share = round(float(match[1]) / 100, 6) if match else 0.0
        if not 0 < share <= 1:
            raise SwitchError(f"{name}={given}: {component}:{value} is out of range; valid: 0.0001% to 100%.")
        shares[component] = share
    return shares


def _replicas(name: str, given: str) -> dict[str, int]:
    """Reads `graphql-gateway:2,product:2`; a component with one replica is as if it were not named."""
    counts: dict[str, int] = {}
    for component, value in _by_component(
        name, given, "a number of replicas", "N", "product:2 or graphql-gateway:2,product:2"
    ):
        if not 1 <= int(value) <= MOST_REPLICAS:
            raise SwitchError(f"{name}={given}: {component}:{value} is out of range; valid: 1 to {MOST_REPLICAS}.")
        if int(value) > 1:
            counts[component] = int(value)
    return counts


def _by_component(name: str, given: str, what: str, value: str, examples: str) -> Iterator[tuple[str, str]]:
    """The COMPONENT:VALUE pairs of a comma-separated list, each component once."""
    pattern = {"TIME": TIME, "PERCENT": _PERCENT, "N": _COUNT}[value]
    seen: set[str] = set()
    for item in map(str.strip, given.split(",")):
        component, _, rest = item.partition(":")
        component = component.strip()
        if not component or pattern.fullmatch(rest) is None:
            raise SwitchError(
                f"{name}={given}: {item or 'an empty item'} is not {what}; give comma-separated "
                f"COMPONENT:{value} pairs, such as {examples}."
            )
        if component not in SERVES:
            raise SwitchError(f"{name}={given}: {component} is an unknown component; valid: {', '.join(SERVES)}.")
        if component in seen:
            raise SwitchError(f"{name}={given}: {component} is given twice; give it once.")
        seen.add(component)
        yield component, rest


SWITCHES: Mapping[str, Switch] = {
    "edge": _choice("Edge proxy in front of the topology", "envoy", "kong", "none"),
    "plugins": _choice("What the edge does besides routing", "none", "typical", "all"),
    "tls": _choice("TLS 1.3 between client and edge", "off", "on"),
    "mesh": _choice("Sidecar mesh", "none", "envoy", "istio"),
    "mtls": _choice("Mutual TLS between sidecars", "off", "on"),
    "canary": _whole("Percent of calls to product that go to a second instance, the canary", 0, 100),
    "replicas": Switch(
        "Processes to run per component, such as graphql-gateway:2,product:2.", "graphql-gateway:2,product:2", _replicas
    ),
    "store": _choice("Where the services keep their data while they run", "postgres", "memory"),
    "runtime": _choice("Where everything runs: this machine, or the current kubectl context", "native", "kubernetes"),
    "load_nodes": _whole("Load generators in the cluster that share the tape", 1, MOST_LOAD_NODES),
    "trace": Switch("Share of journeys to trace, 0 to 1.", "0 to 1", _share),
    "scale": _whole("Scale of the generated data, in units of 10,000 users, products and orders", 1, 100),
    "http": _choice("HTTP version between client and edge", "1", "2", "3", to=int),
    "network": _choice("Network between each customer and the edge", *NAMES),
    "rtt": Switch(
        "Round-trip time between customer and edge, such as 40ms, 0ms to 2s; in place of the network's.",
        "40ms",
        read_rtt,
    ),
    "bandwidth": Switch(
        "Each customer's bandwidth, down/up, such as 10mbit/2mbit; in place of the network's.",
        "10mbit/2mbit",
        read_bandwidth,
    ),
    "visit": _choice("With a network, whether customers' connections are open from before", *VISITS),
    "connections": _whole("Client connections to the edge, or without one to each gateway", 1, MOST_CONNECTIONS),
    "delay": Switch(
        "Delay to inject per component, such as payment:2ms,user:500us.", "payment:2ms,user:500us", _delays
    ),
    "abort": Switch("Share of calls to fail per component, such as payment:1%.", "payment:1%,user:0.5%", _aborts),
}
_NETWORK = ("network", "rtt", "bandwidth")
_IN_RESULTS = {"rtt": "rtt_ms", "delay": "delay_ms", "abort": "abort_share"}
