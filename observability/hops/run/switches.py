"""The switches of a run, as in the manifest and the summary; older runs lack newer switches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from hops.run.network import SWITCHES as NETWORK

Switches = Mapping[str, Any]

DEFAULTS: Switches = {
    "plugins": "none",
    "edge_cache": "none",
    "tls": "off",
    "mesh": "none",
    "mtls": "off",
    "canary": 0,
    "replicas": {},
    "implementation": {},
    "apart": "",
    "delay_ms": {},
    "hold": {},
    "abort_share": {},
    "store": "postgres",
    "updates": "off",
    "cache": "none",
    "tracing": "lean",
    "metrics": "off",
    "runtime": "native",
    "load_nodes": 1,
    "reuse": "on",
    "persisted": "on",
    "compression": "json",
    "client_cache": "off",
    "selection": "graphql",
    "payload": "1KB",
}
"""Values for runs that lack a switch."""
_OF_EDGES = ("edge", "plugins")
_SELECTIONS = ("off", "graphql", "all")
"""Values of the switch `selection`; with `off`, answers have the most fields that no screen shows."""
_MESHES = {"envoy": "Envoy with static configuration", "istio": "Istio"}


def switches_of(manifest: Mapping[str, Any], topology: str) -> Switches:
    """Gives the switches of a topology; an older manifest has only switches that all topologies share."""
    switches: Switches = manifest.get("arms", {}).get(topology, manifest["switches"])
    return switches


def is_of_the_shop(manifest: Mapping[str, Any]) -> bool:
    """Whether a run loads the shop, not another target, according to its manifest or the part that its plan adds."""
    return "targets" not in manifest


def compares_edges(manifest: Mapping[str, Any]) -> bool:
    """Whether a comparison has one topology behind several edges, with no other difference between its arms."""
    arms: Sequence[Switches] = list(manifest.get("arms", {}).values())
    topologies = {str(one.get("name")) for one in manifest["topologies"].values()}
    besides = [{name: value for name, value in arm.items() if name not in _OF_EDGES} for arm in arms]
    alike = all(one == besides[0] for one in besides)
    return manifest["kind"] == "compare" and len(topologies) == 1 and alike and len(arms) > 1


def selection_pairs(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Pairs the arms that differ only in which clients select fields; first the arm that over-fetches more."""
    arms: Mapping[str, Switches] = manifest.get("arms", {}) if is_of_the_shop(manifest) else {}

    def rank(label: str) -> int:
        return _SELECTIONS.index(arms[label].get("selection", DEFAULTS["selection"]))

    def rest(label: str) -> Mapping[str, Any]:
        return {**arms[label], "selection": "", "topology": manifest["topologies"][label].get("name")}

    pairs = combinations(sorted(arms, key=rank), 2)
    return [(one, other) for one, other in pairs if rank(one) < rank(other) and rest(one) == rest(other)]


def value_text(switches: Switches, name: str) -> str:
    """Formats one switch for people; `-` for a switch that neither the run nor `DEFAULTS` has."""
    value = switches.get(name, DEFAULTS.get(name, "-"))
    if (name, value) == ("http", 3):
        return "3 (gRPC stays on 2)"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_number(inner)}" for key, inner in value.items()) or "none"
    return str(value) or "none"


def mesh_text(switches: Switches) -> str:
    """Describes the mesh: `Istio, mTLS on, 10 % of the calls to product go to the canary`; empty without a mesh."""
    mesh = value_text(switches, "mesh")
    if mesh == "none":
        return ""
    parts = [_MESHES.get(mesh, mesh), f"mTLS {value_text(switches, 'mtls')}"]
    canary = switches.get("canary", 0)
    return ", ".join([*parts, f"{canary:g} % of the calls to product go to the canary"] if canary else parts)


def replicas_text(switches: Switches) -> str:
    """Lists the components with replicas: `2 of graphql-gateway, 2 of product`; empty without replicas."""
    replicas: Mapping[str, int] = switches.get("replicas", {})
    return ", ".join(f"{count} of {component}" for component, count in replicas.items())


def programs_of(topology: Mapping[str, Any], switches: Switches) -> Mapping[str, str]:
    """Gives the replacement of each component that does not run in Python: the language, or `command`."""
    by_file = {name: one["implementation"] or "command" for name, one in topology.get("programs", {}).items()}
    chosen = {**by_file, **switches.get("implementation", {})}
    return {name: program for name, program in chosen.items() if program != "python"}


def _number(value: float | str | Sequence[float]) -> str:
    if isinstance(value, str):
        return value
    return f"{value:g}" if isinstance(value, int | float) else " / ".join(f"{one:g}" for one in value)


def switches_text(switches: Switches) -> str:
    """Describes in one line all switches that are on, except the network's switches (`network_text`)."""
    texts = [
        name
        for name, value in switches.items()
        if name not in NETWORK and (value != DEFAULTS.get(name) or name in ("mesh", "mtls"))
    ]
    return ", ".join(f"{name} {value_text(switches, name)}" for name in texts)
