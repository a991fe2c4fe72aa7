"""The load of each topology or arm; older runs sent the same load to all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def rate_of(manifest: Mapping[str, Any], topology: str) -> float:
    """Gives the mean rate of a topology's or arm's tape, journeys a second."""
    loads = manifest.get("loads", {})
    return float(loads[topology]["rate"] if topology in loads else manifest["profile"]["rate"])


def tape_of(manifest: Mapping[str, Any], topology: str) -> str:
    """Gives the SHA-256 of a topology's or arm's tape."""
    loads = manifest.get("loads", {})
    return str(loads[topology]["tape"] if topology in loads else manifest["tapes"]["load"])


def length_s(manifest: Mapping[str, Any], topology: str) -> float:
    """Gives the length of a topology's or arm's counted load, seconds."""
    own = manifest.get("loads", {}).get(topology, {}).get("sending")
    return float(own["duration_s"] if own else manifest["profile"]["duration_s"])


def lengths_text(manifest: Mapping[str, Any]) -> str:
    """Describes how long the counted load was; the shortest and the longest if arms have several."""
    lengths = sorted({length_s(manifest, topology) for topology in manifest["topologies"]})
    if len(lengths) == 1:
        return f"{lengths[0]:g} s"
    return f"{lengths[0]:g} to {lengths[-1]:g} s, by arm,"


def rates_text(manifest: Mapping[str, Any]) -> str:
    """Describes the rate; the lowest and the highest if arms have several."""
    rates = sorted({rate_of(manifest, topology) for topology in manifest["topologies"]})
    if len(rates) == 1:
        return f"{rates[0]:g} journeys a second"
    return f"{rates[0]:g} to {rates[-1]:g} journeys a second, by arm"


def is_closed(manifest: Mapping[str, Any], topology: str) -> bool:
    """Whether virtual users sent a topology's or arm's journeys, each user one at a time, waiting for the answers."""
    sending = manifest.get("loads", {}).get(topology, {}).get("sending", {})
    return bool(sending["closed"]) if "closed" in sending else manifest["mode"] == "closed"


def overloads(manifest: Mapping[str, Any], topology: str) -> bool:
    """Whether a topology's or arm's load is more than the shop can handle."""
    sending = manifest.get("loads", {}).get(topology, {}).get("sending", {})
    return bool(sending.get("overload", False))


def sending_of(manifest: Mapping[str, Any], topology: str) -> dict[str, Any]:
    """Gives how a topology's or arm's tape was sent if it had its own load, and how customers waited for updates."""
    waiting = manifest.get("watch", {}).get(topology, {})
    sending = manifest.get("loads", {}).get(topology, {}).get("sending", {})
    return {**sending, **{name: value for name, value in waiting.items() if name != "topology"}}
