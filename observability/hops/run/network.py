"""The network that a run emulated between its customers and the edge; runs of earlier versions emulated no network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from hops.errors import MalformedRunError
from hops.run.documents.network import ChannelNetwork, NetworkSummary

CHANNELS = ("web", "mobile", "partner")
LOOPBACK = "loopback"

SWITCHES = ("network", "rtt_ms", "bandwidth", "visit", "networks")
"""Switches that together describe the network in results."""

Visit = Literal["warm", "first"]

_MBIT = {"kbit": 1e-3, "mbit": 1.0, "gbit": 1e3}


@dataclass(frozen=True, slots=True)
class Network:
    """The network between a customer and the edge.

    Attributes:
        down_mbit: Mbit/s towards the customer; None for no limit.
        up_mbit: Mbit/s towards the edge; None for no limit.
        name: Name of a network with these published values; None if a value was given instead.
    """

    rtt_ms: float = 0.0
    down_mbit: float | None = None
    up_mbit: float | None = None
    name: str | None = None

    @property
    def document(self) -> ChannelNetwork:
        """Converts the network to its form in documents."""
        return ChannelNetwork(rtt_ms=self.rtt_ms, down_mbit=self.down_mbit, up_mbit=self.up_mbit, name=self.name)


NAMED: Mapping[str, Network] = {
    network.name: network
    for network in (
        Network(0.0, name=LOOPBACK),
        Network(0.5, 1000.0, 1000.0, "lan"),
        Network(2.0, 30.0, 15.0, "wifi"),
        Network(47.0, 265.8, 14.56, "5g"),
        Network(70.0, 12.0, 12.0, "4g"),
        Network(150.0, 1.6, 0.768, "3g"),
    )
    if network.name
}
"""Networks with names; docs/experiments/customer-network.md has their sources."""


def networks_of(switches: Mapping[str, Any]) -> Mapping[str, Network]:
    """Reads the network of each channel from the switches of a run or an arm; empty if no network was emulated.

    Raises:
        MalformedRunError: The switches have impossible values.
    """
    try:
        own: Mapping[str, Any] = switches.get("networks", {})
        if own:
            return {channel: _resolve(one) for channel, one in own.items()}
        # Before networks had names, a round-trip time of 0 meant no network.
        if "network" not in switches or (
            switches["network"] == LOOPBACK and switches["rtt_ms"] is None and not switches["bandwidth"]
        ):
            return {}
        return dict.fromkeys(CHANNELS, _resolve(switches))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        given = ", ".join(f"{name}={switches[name]!r}" for name in SWITCHES if name in switches)
        raise MalformedRunError(f"manifest.json: not a valid network: {given}"[:300]) from error


def visit_of(switches: Mapping[str, Any]) -> Visit:
    """Returns `warm` if customers' connections were open from an earlier visit, and otherwise `first`."""
    return "first" if switches.get("visit") == "first" else "warm"


def network_summary(switches: Mapping[str, Any]) -> NetworkSummary | None:
    """Converts the networks to their form in `summary.json`; None if no network was emulated."""
    networks = networks_of(switches)
    if not networks:
        return None
    return NetworkSummary(
        visit=visit_of(switches), channels={channel: network.document for channel, network in networks.items()}
    )


def in_words(network: Network) -> str:
    """Describes a network for people: `4g (70 ms, 12/12 Mbit/s)`, `40 ms, 10/2 Mbit/s`, `40 ms`."""
    rates = (network.down_mbit, network.up_mbit)
    parts = [f"{network.rtt_ms:g} ms"]
    if rates != (None, None):
        parts.append("/".join("unlimited" if rate is None else f"{rate:g}" for rate in rates) + " Mbit/s")
    text = ", ".join(parts)
    return f"{network.name} ({text})" if network.name else text


def network_text(switches: Mapping[str, Any]) -> str:
    """Describes the network: `4g (70 ms, 12/12 Mbit/s), connections open from an earlier visit`; empty without one."""
    networks = networks_of(switches)
    if not networks:
        return ""
    if len(set(networks.values())) == 1:
        text = in_words(next(iter(networks.values())))
    else:
        text = ", ".join(f"{channel} {in_words(network)}" for channel, network in networks.items())
    how = "open from an earlier visit" if visit_of(switches) == "warm" else "opened by each journey"
    return f"{text}, connections {how}"


def _resolve(given: Mapping[str, Any]) -> Network:
    network = NAMED[given["network"]]
    if given["rtt_ms"] is not None:
        network = replace(network, rtt_ms=float(given["rtt_ms"]), name=None)
    if given["bandwidth"]:
        down, _, up = str(given["bandwidth"]).partition("/")
        network = replace(network, down_mbit=_mbit(down), up_mbit=_mbit(up or down), name=None)
    return network


def _mbit(rate: str) -> float:
    """Reads a rate such as `1.6mbit`, which was checked before the run."""
    return round(float(rate[:-4]) * _MBIT[rate[-4:]], 6)
