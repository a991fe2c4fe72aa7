"""Arms along an axis: every topology at each of several places, such as distances or rates, or with each value of a
setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from experiment.arguments import read_items
from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import MAX_ARMS, Arm, arm_of, arms_of, read_switches
from mesh.description.network import Network
from mesh.description.topology import Topology

T = TypeVar("T")
NO_EDGE = "none"
ONLY_WITH_EDGE = ("2", "3")
"""HTTP versions that the edge speaks but gateways do not."""
GivenSwitches: TypeAlias = Mapping[str, str | None]
"""Switches, as a user gives them."""


def arms_along(
    name: str,
    given: str,
    noun: str,
    example: str,
    topologies: Sequence[Topology],
    read: Callable[[str], T],
    order: Callable[[T], tuple[float, ...]],
) -> list[tuple[Topology, T]]:
    """Reads the places that a setting lists, and pairs every place with every topology, in the order of the places.

    Raises:
        UsageError: A place is invalid or is given twice, there is only one place, or there are too many arms.
    """
    places = sorted(read_items(name, given, read), key=order)
    if len(places) < 2:
        raise UsageError(f"{name}={given} is a single {noun}; give at least two, such as {example}")
    count = len(topologies) * len(places)
    if count > MAX_ARMS:
        raise UsageError(
            f"{len(topologies)} topologies at {len(places)} {noun}s make {count} arms, and an experiment has at most "
            f"{MAX_ARMS}: give fewer topologies= or {name}="
        )
    return [(topology, place) for place in places for topology in topologies]


def compared_arms(
    topologies: Sequence[Topology],
    along: Mapping[str, str | None],
    given: GivenSwitches,
    networks: Mapping[str, Network] | None = None,
) -> tuple[Arm, ...]:
    """Makes an arm for each topology, or for each topology with each value of one setting.

    Args:
        along: The settings `edges`, `edge_caches` and `selections`, as a user gives them.

    Raises:
        UsageError: Several of the settings are given, or one contradicts a switch or a topology.
    """
    chosen = {name: values for name, values in along.items() if values}
    if not chosen:
        return arms_of(topologies, read_switches(topologies, given, networks))
    if len(chosen) > 1:
        listed = " and ".join(f"{name}={values}" for name, values in chosen.items())
        raise UsageError(f"{listed} cannot be combined: give one of them")
    ((name, values),) = chosen.items()
    switch, ways_of = _ALONG[name]
    if given.get(switch):
        raise UsageError(f"{name}={values} and {switch}={given[switch]} contradict each other: give one of them")
    names = read_items(name, values, str)
    return tuple(
        arm_of(f"{topology.name}{suffix}", topology, ways, networks, compared=topologies)
        for topology in topologies
        for suffix, ways in ways_of(names, given).items()
    )


def require_http_1(http: str | None, setting: str, no_edge: str) -> None:
    """Raises UsageError if the user gave another HTTP version although an arm of this setting has no edge."""
    if http in ONLY_WITH_EDGE:
        raise UsageError(
            f"http={http}: without an edge, gateways speak HTTP/1.1 only, and all arms must speak the same version; "
            f"leave out http={http}, or give {setting}= without {no_edge}"
        )


def _selections(names: Sequence[str], given: GivenSwitches) -> Mapping[str, GivenSwitches]:
    return {f"-select-{name}": {**given, "selection": name} for name in names}


def _edge_caches(names: Sequence[str], given: GivenSwitches) -> Mapping[str, GivenSwitches]:
    """Makes one arm with a shared cache and one without. The cache does not support TLS, so neither arm uses TLS."""
    if sorted(names) != ["none", "varnish"]:
        raise UsageError(f"edge_caches={','.join(names)} is not valid; valid: none,varnish")
    given = {**given, "tls": given.get("tls") or "off"}
    return {"" if name == "none" else "-edge-cache": {**given, "edge_cache": name} for name in names}


def _edges(names: Sequence[str], given: GivenSwitches) -> Mapping[str, GivenSwitches]:
    """Makes an arm for each edge. Without an edge, an arm has no plugins, and clients of all arms speak HTTP/1.1."""
    if NO_EDGE in names:
        require_http_1(given.get("http"), "edges", NO_EDGE)
        given = {**given, "http": "1"}
    return {
        f"-{'no-edge' if name == NO_EDGE else name}": {
            **given,
            "edge": name,
            **({"plugins": None} if name == NO_EDGE else {}),
        }
        for name in names
    }


_ALONG: Mapping[str, tuple[str, Callable[[Sequence[str], GivenSwitches], Mapping[str, GivenSwitches]]]] = {
    "edges": ("edge", _edges),
    "edge_caches": ("edge_cache", _edge_caches),
    "selections": ("selection", _selections),
}
"""Maps each setting that makes arms to its switch, and to a function that returns the arms' switches by name suffix."""
