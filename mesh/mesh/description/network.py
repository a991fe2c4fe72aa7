"""The network between a customer and the edge, as users describe it; the load generator emulates it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mesh.errors import SwitchError

LOOPBACK = "loopback"
NAMES = (LOOPBACK, "lan", "wifi", "5g", "4g", "3g")
VISITS = ("warm", "first")
LONGEST_RTT_MS = 2_000.0
LOWEST_BITS_S, HIGHEST_BITS_S = 10_000.0, 10_000_000_000.0

TIME = re.compile(r"([0-9]+(?:\.[0-9]+)?)(us|ms|s)|0", re.ASCII)
"""A time with its unit; zero needs none."""
_MS = {"us": 0.001, "ms": 1.0, "s": 1_000.0, None: 0.0}
_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?)(kbit|mbit|gbit)", re.ASCII)
_BITS_S = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}


@dataclass(frozen=True)
class Network:
    """A network; round-trip time and bandwidth take the place of the named network's.

    Attributes:
        network: One of `NAMES`.
        rtt_ms: Round-trip time, None for the named network's.
        bandwidth: Bandwidth as it was given, such as `10mbit/2mbit` (down/up); empty for the named network's.
    """

    network: str = LOOPBACK
    rtt_ms: float | None = None
    bandwidth: str = ""

    @property
    def is_emulated(self) -> bool:
        """Whether customers have links of their own; a round-trip time of 0 is one that takes no time."""
        return self != Network()

    def as_target(self) -> dict[str, str]:
        """The network as the load generator reads it in its target file."""
        told = {"network": self.network}
        if self.rtt_ms is not None:
            told["rtt"] = f"{self.rtt_ms:.10g}ms"
        if self.bandwidth:
            told["bandwidth"] = self.bandwidth
        return told


def milliseconds(given: str) -> float | None:
    """Reads a time such as `40ms`, `500us` or `0`; None if it is none."""
    match = TIME.fullmatch(given)
    return None if match is None else float(match[1] or 0) * _MS[match[2]]


def read_rtt(name: str, given: str) -> float:
    """Reads a round-trip time such as `40ms`, in ms, kept to the microsecond.

    Raises:
        SwitchError: It is none, or out of range.
    """
    rtt_ms = milliseconds(given)
    if rtt_ms is None or not 0 <= rtt_ms <= LONGEST_RTT_MS:
        raise SwitchError(f"{name}={given} is not a round-trip time from 0ms to 2s, such as 40ms or 0.5ms.")
    return round(rtt_ms, 3)


def read_bandwidth(name: str, given: str) -> str:
    """Checks a bandwidth such as `10mbit/2mbit` (down/up) or `10mbit` (both), and returns it as it is.

    Raises:
        SwitchError: It is none, or out of range.
    """
    rates = given.split("/")
    if len(rates) > 2 or not all(_is_rate(rate) for rate in rates):
        raise SwitchError(
            f"{name}={given} is not of the form DOWN/UP, such as 10mbit/2mbit, each from 10kbit to 10gbit "
            "(units: kbit, mbit, gbit per second)."
        )
    return given


def _is_rate(text: str) -> bool:
    match = _RATE.fullmatch(text)
    return match is not None and LOWEST_BITS_S <= float(match[1]) * _BITS_S[match[2]] <= HIGHEST_BITS_S
