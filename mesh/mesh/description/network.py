"""The network between a customer and the edge, as users describe it; the load generator emulates it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from mesh.errors import SwitchError

LOOPBACK = "loopback"
VISITS = ("warm", "first")
MAX_RTT_MS = 2_000.0
MIN_BITS_S, MAX_BITS_S = 10_000.0, 10_000_000_000.0

TIME = re.compile(r"([0-9]+(?:\.[0-9]+)?)(us|ms|s)|0", re.ASCII)
"""A time with its unit; zero needs no unit."""
_MS = {"us": 0.001, "ms": 1.0, "s": 1_000.0, None: 0.0}
_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?)(kbit|mbit|gbit)", re.ASCII)
_BITS_S = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}


@dataclass(frozen=True)
class Line:
    """The link between a customer and the edge, as the load generator emulates it.

    The round-trip time excludes the serialisation delay. The bandwidth includes headers; 0 for no limit.
    """

    rtt_ms: float = 0.0
    down_bits_per_s: int = 0
    up_bits_per_s: int = 0


NAMED = {
    LOOPBACK: Line(),
    "lan": Line(0.5, 1_000_000_000, 1_000_000_000),
    "wifi": Line(2, 30_000_000, 15_000_000),
    "5g": Line(47, 265_800_000, 14_560_000),
    "4g": Line(70, 12_000_000, 12_000_000),
    "3g": Line(150, 1_600_000, 768_000),
}
"""Networks whose figures are published; docs/experiments/customer-network.md has their sources."""
NAMES = tuple(NAMED)


@dataclass(frozen=True)
class Network:
    """A network of `NAMES`; a round-trip time, and a bandwidth such as `10mbit/2mbit` (down/up), override its own."""

    network: str = LOOPBACK
    rtt_ms: float | None = None
    bandwidth: str = ""

    @property
    def is_emulated(self) -> bool:
        """Whether each customer has a separate link, even with a round-trip time of 0."""
        return self != Network()

    @property
    def line(self) -> Line:
        """The link that the generator emulates."""
        line = NAMED[self.network]
        if self.rtt_ms is not None:
            line = replace(line, rtt_ms=self.rtt_ms)
        if self.bandwidth:
            down, _, up = self.bandwidth.partition("/")
            line = replace(line, down_bits_per_s=_bits_s(down), up_bits_per_s=_bits_s(up or down))
        return line


def milliseconds(given: str) -> float | None:
    """Reads a time such as `40ms`, `500us` or `0`; returns None for other text."""
    match = TIME.fullmatch(given)
    return None if match is None else float(match[1] or 0) * _MS[match[2]]


def read_rtt(name: str, given: str) -> float:
    """Reads a round-trip time such as `40ms`, in ms, exact to the microsecond.

    Raises:
        SwitchError: The text is not a time, or is out of range.
    """
    rtt_ms = milliseconds(given)
    if rtt_ms is None or not 0 <= rtt_ms <= MAX_RTT_MS:
        raise SwitchError(f"{name}={given} is not a round-trip time from 0ms to 2s, such as 40ms or 0.5ms.")
    return round(rtt_ms, 3)


def read_bandwidth(name: str, given: str) -> str:
    """Checks a bandwidth such as `10mbit/2mbit` (down/up) or `10mbit` (both), and returns it unchanged.

    Raises:
        SwitchError: The text is not a bandwidth, or is out of range.
    """
    rates = given.split("/")
    if len(rates) > 2 or not all(MIN_BITS_S <= _bits_s(rate) <= MAX_BITS_S for rate in rates):
        raise SwitchError(
            f"{name}={given} is not of the form DOWN/UP, such as 10mbit/2mbit, each from 10kbit to 10gbit "
            "(units: kbit, mbit, gbit per second)."
        )
    return given


def _bits_s(text: str) -> int:
    match = _RATE.fullmatch(text)
    return round(float(match[1]) * _BITS_S[match[2]]) if match else 0
