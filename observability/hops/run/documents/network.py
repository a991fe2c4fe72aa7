"""The emulated network between the customers and the edge."""

from __future__ import annotations

from typing import Literal, TypedDict


class ChannelNetwork(TypedDict):
    """The network between a customer and the edge.

    A rate is None without a limit; `name` is None if the values are not those of a named network.
    """

    rtt_ms: float
    down_mbit: float | None
    up_mbit: float | None
    name: str | None


class NetworkSummary(TypedDict):
    """The emulated network, by channel, and whether connections were open from an earlier visit."""

    visit: Literal["warm", "first"]
    channels: dict[str, ChannelNetwork]
