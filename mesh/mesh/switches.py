"""The switches that are orthogonal to a topology, and what each may be."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from mesh.errors import SwitchError
from mesh.topology import SERVES

HIGHEST_SCALE = 100
MOST_CONNECTIONS = 256
LONGEST_DELAY_MS = 1_000.0
LATER = {"edge": ("kong",), "mesh": ("envoy", "istio"), "mtls": ("on",)}
"""Values that exist in the design and that this version cannot run."""


@dataclass(frozen=True)
class Switches:
    """How a topology is run.

    Attributes:
        edge: the proxy that clients reach: `envoy`, or `none` for the gateways themselves.
        mesh: the sidecars: `none`.
        mtls: TLS between components: `off`.
        trace: share of the journeys that leave a trace, 0 to 1.
        scale: size of the data; 1 is 10,000 of each.
        http: HTTP version from client to edge.
        rtt_ms: added round-trip time of the client's network, in milliseconds.
        connections: that clients keep open to the edge, together.
        delay_ms: time added to every request that a component serves, by component, in milliseconds.
    """

    edge: str = "envoy"
    mesh: str = "none"
    mtls: str = "off"
    trace: float = 0.2
    scale: int = 1
    http: int = 2
    rtt_ms: int = 0
    connections: int = 4
    delay_ms: Mapping[str, float] = field(default_factory=dict, hash=False)

    def as_dict(self) -> dict[str, Any]:
        """The switches as they are written into results."""
        return asdict(self)


def delays_in_words(delay_ms: Mapping[str, float]) -> str:
    """Says which components are slowed and by how much: `payment by 2 ms, product by 0.5 ms`; empty for none."""
    return ", ".join(f"{component} by {delay:g} ms" for component, delay in delay_ms.items())


def parse_switches(
    *,
    edge: str | None = None,
    mesh: str | None = None,
    mtls: str | None = None,
    trace: str | float | None = None,
    scale: str | int | None = None,
    http: str | int | None = None,
    rtt: str | int | None = None,
    connections: str | int | None = None,
    delay: str | None = None,
) -> Switches:
    """Check the switches that a user gave; None stands for the default.

    Returns:
        The checked switches.

    Raises:
        SwitchError: one has a value that it cannot have; lists the ones it can.
    """
    default = Switches()
    switches = Switches(
        edge=_choice("edge", edge, default.edge, ("envoy", "none")),
        mesh=_choice("mesh", mesh, default.mesh, ("none",)),
        mtls=_choice("mtls", mtls, default.mtls, ("off",)),
        trace=_ratio("trace", trace, default.trace),
        scale=_whole("scale", scale, default.scale, 1, HIGHEST_SCALE),
        http=int(_choice("http", None if http is None else str(http), str(default.http), ("1", "2"))),
        rtt_ms=_whole("rtt", rtt, default.rtt_ms, 0, 0),
        connections=_whole("connections", connections, default.connections, 1, MOST_CONNECTIONS),
        delay_ms=_delays(delay),
    )
    if switches.edge == "none" and switches.http == 2:
        raise SwitchError("edge=none needs http=1: without an edge, clients reach gateways that speak HTTP/1.1 only.")
    return switches


def _choice(name: str, given: str | None, default: str, valid: Sequence[str]) -> str:
    if given is None or given == "":
        return default
    if given in valid:
        return given
    if given in LATER.get(name, ()):
        raise SwitchError(f"{name}={given} is not available in this version; valid: {', '.join(valid)}.")
    raise SwitchError(f"{name}={given} is unknown; valid: {', '.join(valid)}.")


def _ratio(name: str, given: str | float | None, default: float) -> float:
    if given is None or given == "":
        return default
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise SwitchError(f"{name}={given}: must be a number from 0 (no journey) to 1 (every journey).")
    return value


_DELAY = re.compile(r"([^:]+):([0-9]+(?:\.[0-9]+)?)(us|ms|s)", re.ASCII)
_MS = {"us": 0.001, "ms": 1.0, "s": 1_000.0}


def _delays(given: str | None) -> dict[str, float]:
    """Reads `payment:2ms,product:500us`; times are kept to the microsecond."""
    found: dict[str, float] = {}
    for part in (given or "").split(",") if given else ():
        match = _DELAY.fullmatch(part.strip())
        if match is None:
            raise SwitchError(
                f"delay={given}: {part.strip() or 'an empty part'} is no delay; give COMPONENT:TIME, commas between "
                "them, as payment:2ms or payment:2ms,product:500us."
            )
        component = match[1].strip()
        if component not in SERVES:
            raise SwitchError(f"delay={given}: {component} is an unknown component; valid: {', '.join(SERVES)}.")
        if component in found:
            raise SwitchError(f"delay={given}: {component} is named twice; give it one time.")
        delay_ms = round(float(match[2]) * _MS[match[3]], 3)
        if not 0 < delay_ms <= LONGEST_DELAY_MS:
            raise SwitchError(f"delay={given}: {part.strip()} is out of range; valid: above 0 (from 1us) to 1s.")
        found[component] = delay_ms
    return found


def _whole(name: str, given: str | int | None, default: int, lowest: int, highest: int) -> int:
    if given is None or given == "":
        return default
    text = str(given)
    if text.isascii() and text.isdigit() and lowest <= int(text) <= highest:
        return int(text)
    if lowest == highest:
        raise SwitchError(f"{name}={given} is not available in this version; valid: {lowest}.")
    raise SwitchError(f"{name}={given}: must be a whole number from {lowest} to {highest}.")
