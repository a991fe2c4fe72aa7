"""The switches that are orthogonal to a topology: one table of their names, help texts and valid values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from mesh.errors import SwitchError
from mesh.topology import SERVES

MOST_CONNECTIONS = 256
LONGEST_DELAY_MS = 1_000.0


@dataclass(frozen=True)
class Switches:
    """How a topology is run: the value of each switch, under the name that it has in results."""

    edge: str = "envoy"
    mesh: str = "none"
    mtls: str = "off"
    store: str = "postgres"
    trace: float = 0.2
    scale: int = 1
    http: int = 2
    rtt_ms: int = 0
    connections: int = 4
    delay_ms: Mapping[str, float] = field(default_factory=dict, hash=False)

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


def parse_switches(**given: str | float | None) -> Switches:
    """Check the switches that a user gave.

    Args:
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
    if switches.edge == "none" and switches.http == 2:
        raise SwitchError("edge=none needs http=1: without an edge, clients reach gateways that speak HTTP/1.1 only.")
    return switches


def delays_in_words(delay_ms: Mapping[str, float]) -> str:
    """Says which components are slowed and by how much: `payment by 2 ms, product by 0.5 ms`; empty for none."""
    return ", ".join(f"{component} by {delay:g} ms" for component, delay in delay_ms.items())


def _choice(about: str, *valid: str, later: tuple[str, ...] = (), to: Callable[[str], Any] = str) -> Switch:
    """A switch with a few values; `later` are those of the design that this version cannot run."""

    def read(name: str, given: str) -> Any:
        if given not in valid:
            problem = "not available in this version" if given in later else "unknown"
            raise SwitchError(f"{name}={given} is {problem}; valid: {', '.join(valid)}.")
        return to(given)

    in_words = " or ".join(valid)
    only = len(valid) == 1
    return Switch(f"{about}; only {in_words} is available." if only else f"{about}: {in_words}.", in_words, read)


def _whole(about: str, lowest: int, highest: int) -> Switch:
    def read(name: str, given: str) -> int:
        if given.isascii() and given.isdigit() and lowest <= int(given) <= highest:
            return int(given)
        if lowest == highest:
            raise SwitchError(f"{name}={given} is not available in this version; valid: {lowest}.")
        raise SwitchError(f"{name}={given}: must be an integer from {lowest} to {highest}.")

    if lowest == highest:
        return Switch(f"{about}; only {lowest} is available.", str(lowest), read)
    return Switch(f"{about}, {lowest} to {highest}.", f"{lowest} to {highest}", read)


def _share(name: str, given: str) -> float:
    try:
        share = float(given)
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise SwitchError(f"{name}={given}: must be a number from 0 (no journey) to 1 (every journey).")
    return share


_DELAY = re.compile(r"([^:]+):([0-9]+(?:\.[0-9]+)?)(us|ms|s)", re.ASCII)
_MS = {"us": 0.001, "ms": 1.0, "s": 1_000.0}


def _delays(name: str, given: str) -> dict[str, float]:
    """Reads `payment:2ms,product:500us`; times are kept to the microsecond."""
    delays: dict[str, float] = {}
    for item in map(str.strip, given.split(",")):
        match = _DELAY.fullmatch(item)
        if match is None:
            raise SwitchError(
                f"{name}={given}: {item or 'an empty item'} is not a delay; give comma-separated "
                "COMPONENT:TIME pairs, such as payment:2ms or payment:2ms,product:500us."
            )
        component, delay_ms = match[1].strip(), round(float(match[2]) * _MS[match[3]], 3)
        if component not in SERVES:
            raise SwitchError(f"{name}={given}: {component} is an unknown component; valid: {', '.join(SERVES)}.")
        if component in delays:
            raise SwitchError(f"{name}={given}: {component} is given twice; give it once.")
        if not 0 < delay_ms <= LONGEST_DELAY_MS:
            raise SwitchError(f"{name}={given}: {item} is out of range; valid: above 0 (from 1us) to 1s.")
        delays[component] = delay_ms
    return delays


SWITCHES: Mapping[str, Switch] = {
    "edge": _choice("Edge proxy in front of the topology", "envoy", "none", later=("kong",)),
    "mesh": _choice("Sidecar mesh", "none", later=("envoy", "istio")),
    "mtls": _choice("Mutual TLS between components", "off", later=("on",)),
    "store": _choice("Where the services keep their data while they run", "postgres", "memory"),
    "trace": Switch("Share of journeys to trace, 0 to 1.", "0 to 1", _share),
    "scale": _whole("Scale of the generated data, in units of 10,000 users, products and orders", 1, 100),
    "http": _choice("HTTP version between client and edge", "1", "2", to=int),
    "rtt": _whole("Extra client round-trip time in ms", 0, 0),
    "connections": _whole("Client connections to the edge in total", 1, MOST_CONNECTIONS),
    "delay": Switch(
        "Delay to inject per component, such as payment:2ms,user:500us.", "payment:2ms,user:500us", _delays
    ),
}
_IN_RESULTS = {"rtt": "rtt_ms", "delay": "delay_ms"}
