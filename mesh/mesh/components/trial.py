"""One trial of a topology: which switches suit it, its parts, and the load generator's target document."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from mesh.components.edge_cache import NOTIFIES_EDGE_CACHE
from mesh.components.valkey import CACHED
from mesh.description.places import Places
from mesh.description.switches import HTTP2, HTTP3, SWITCHES, Switches
from mesh.description.topology import (
    CACHEABLE,
    EDGE,
    EDGE_CACHE,
    GATEWAYS,
    NOTIFICATION,
    SERVICES,
    SERVICES_ENTRY,
    UNCACHED,
    Channel,
    Library,
    Protocol,
    Topology,
    entrance_name,
    find_unserved,
    require_runnable,
)
from mesh.edge.kong import require_kong
from mesh.errors import SwitchError

WITHOUT_MASKS = {"thrift", "thrift-json", "rest-transcoded"}
"""Protocols over which clients cannot select the fields of a resource."""


def require_fit(topology: Topology, switches: Switches) -> None:
    """Raises a SwitchError with the reason and the valid values if a topology cannot run with these switches."""
    _require_programs(topology.with_implementations(switches.implementation), switches)
    if topology.frames_thrift:
        _require_plain(topology, switches)
    if switches.edge == "none" and not topology.entered_by_gateways and not topology.passes_by_the_edge:
        raise SwitchError(
            f"edge=none: {topology.name} has clients that reach services without a gateway, and the edge must route "
            "their requests and mark them as external; "
            f"valid with {topology.name}: {'envoy' if topology.needs_envoy else 'envoy, kong'}."
        )
    if switches.edge == "kong":
        require_kong(topology)
    if switches.has_edge_cache:
        _require_cacheable(topology, switches)
    if switches.updates == "on" and not topology.has_updates:
        raise SwitchError(f"updates=on: {topology.name} has no notification service; valid with {topology.name}: off.")
    speaks = {topology.client_speaks(channel) for channel in topology.entry}
    if switches.selection == "all" and (unable := sorted(speaks & WITHOUT_MASKS)):
        raise SwitchError(
            f"selection=all: clients of {topology.name} speak {' and '.join(unable)}, without sparse "
            f"fieldsets or field masks; valid with {topology.name}: graphql, off."
        )
    if switches.selection != "graphql" and "graphql-services" in speaks:
        raise SwitchError(
            f"selection={switches.selection}: clients of {topology.name} send GraphQL documents to the services, and "
            f"these documents request only what journeys show; valid with {topology.name}: graphql."
        )
    if switches.http != HTTP2 and topology.library is Library.CONNECT:
        raise SwitchError(
            f"http={switches.http}: clients of {topology.name} speak gRPC through {topology.library}, which needs "
            f"HTTP/2 for its trailers; valid with {topology.name}: 2."
        )
    if switches.http == HTTP3 and topology.speaks_grpc_only:
        raise SwitchError(
            f"http=3: the clients of {topology.name} speak only gRPC, which always uses HTTP/2; "
            f"valid with {topology.name}: 1, 2."
        )
    for name in ("delay", "hold", "abort", "replicas"):
        if idle := sorted(set(getattr(switches, SWITCHES[name].field)) - set(topology.components)):
            raise SwitchError(
                f"{name}={','.join(idle)}: {topology.name} does not run {' and '.join(idle)}; "
                f"it runs {', '.join(topology.components)}."
            )


def _require_cacheable(topology: Topology, switches: Switches) -> None:
    """Checks that a shared cache can forward every channel's requests, and keep answers for at least one channel."""
    spoken = {topology.client_speaks(channel) for channel in topology.entry}
    setting = f"edge_cache={switches.edge_cache}"
    if not spoken & set(CACHEABLE) or Protocol.THRIFT in spoken or any(map(topology.speaks_grpc, topology.entry)):
        others = sorted(spoken - set(CACHEABLE))
        reasons = "; ".join(UNCACHED.get(one, f"the calls of {one} are POST requests") for one in others)
        raise SwitchError(
            f"{setting}: a shared cache cannot keep any answer of {topology.name}: {reasons}; "
            f"valid with {topology.name}: none."
        )
    if Protocol.GRAPHQL in spoken and switches.persisted == "off":
        raise SwitchError(
            f"{setting} with persisted=off: GraphQL documents sent as full text are POST requests, whose answers a "
            "shared cache does not keep; give persisted=on."
        )


def _require_programs(topology: Topology, switches: Switches) -> None:
    """Checks that programs that replace components get only the switches in the contract of
    docs/system/your-component.md."""
    for _, problem in find_unserved(topology):
        raise SwitchError(f"implementation: {problem}.")
    require_runnable(topology, "image" if switches.in_cluster else "command")
    others = set(topology.programs)
    following = {name for name in others & set(GATEWAYS) if NOTIFICATION in topology.links.get(name, {})}
    beyond = {
        "store=memory": switches.store == "memory" and others & set(SERVICES),
        f"cache={switches.cache}": switches.cache != "none" and others & set(CACHED),
        f"edge_cache={switches.edge_cache}": switches.has_edge_cache
        and others & {NOTIFIES_EDGE_CACHE, *topology.behind_edge},
        "metrics=on": switches.metrics == "on",
        "admission=on": switches.admission == "on" and others & set(topology.behind_edge),
        "hold": others & set(switches.hold),
        "updates=on": switches.updates == "on" and any(topology.programs[name].implementation for name in following),
    }
    for setting, asked in beyond.items():
        if others and asked:
            raise SwitchError(
                f"{setting} with {topology.name}, where another program runs as {' and as '.join(sorted(others))}: "
                f"the contract of such programs does not include this setting; leave it out, or give "
                f"implementation={','.join(f'{name}:python' for name in sorted(others))}."
            )


def as_it_runs(topology: Topology, switches: Switches) -> Switches:
    """Returns the switches that a topology really runs with: framed Thrift has no edge, connect-go needs HTTP/2 for
    gRPC."""
    if topology.passes_by_the_edge and switches.edge == Switches().edge:
        return replace(switches, edge="none", http=1)
    if topology.library is Library.CONNECT and topology.speaks_grpc_only and switches.http < HTTP2:
        return replace(switches, http=HTTP2)
    return switches


def _require_plain(topology: Topology, switches: Switches) -> None:
    """Refuses proxies for framed Thrift, which goes straight from caller to callee: no proxy here carries it and
    records its spans."""
    plain = ["mesh", "runtime"]
    if topology.passes_by_the_edge:
        plain += ["tls", "plugins", "admission", "apart", "network", "rtt_ms", "bandwidth", "networks", "reuse", "edge"]
    for name in plain:
        value, valid = getattr(switches, name), "none" if name == "edge" else getattr(Switches(), name)
        if value != valid:
            raise SwitchError(
                f"{name.removesuffix('_ms')}={value}: {topology.name} speaks framed Thrift, which goes straight to the "
                "services, because neither the edge nor a sidecar carries it with spans; "
                f"valid with {topology.name}: {valid or 'nothing'}."
            )


def parts_of(topology: Topology, switches: Switches) -> list[str]:
    """What a trial starts, for people: `database`, `Jaeger`, `services` and so on."""
    return [
        "database",
        *(["cache"] if switches.cache != "none" else []),
        "Jaeger",
        "services",
        *(["gateways"] if topology.gateways else []),
        *(["edge"] if switches.has_edge else []),
        *(["edge cache"] if switches.has_edge_cache else []),
        *(["sidecars"] if switches.meshed else []),
    ]


def entrance(switches: Switches, places: Places, entered: str) -> str:
    """Where a channel's clients send requests: the edge cache, else the edge, else the channel's gateway."""
    if entered == SERVICES_ENTRY and not switches.has_edge:
        return framed_url(places)
    if switches.has_edge:
        entered = EDGE_CACHE if switches.has_edge_cache else EDGE
    return f"{switches.scheme}://{places.endpoints(entered)[0]}"


def target_document(
    topology: Topology, switches: Switches, trial: str, places: Places, private_key: Path, ca_certificate: Path | None
) -> dict[str, Any]:
    """The document that names the load generator's target.

    Args:
        places: Where the generator reaches the topology.
        private_key: Where the generator finds the key that signs its tokens.
        ca_certificate: Where the generator finds the certificate that it must trust; None without TLS.
    """
    return {
        "topology": topology.name,
        "trial": trial,
        "http": switches.http,
        **({} if ca_certificate is None else {"ca_certificate": str(ca_certificate)}),
        "connections": switches.connections,
        **({} if switches.reuse == "on" else {"fresh": True}),
        **({"cache": True} if switches.client_cache == "on" else {}),
        "selection": switches.selection,
        **({} if switches.persisted == "on" else {"texts": True}),
        **({"gets": True} if switches.has_edge_cache else {}),
        **({"uncompressed": True} if switches.compression == "off" else {}),
        "plan": topology.plan.value,
        **({"apart": switches.apart} if switches.apart else {}),
        **({"urgent": True} if switches.admission == "on" else {}),
        **network_of(switches),
        "entry": {channel.value: _entry(topology, switches, places, channel) for channel in topology.entry},
        "otlp": str(places.endpoints("jaeger-otlp-grpc")[0]),
        "jwt_private_key": str(private_key),
    }


def _entry(topology: Topology, switches: Switches, places: Places, channel: Channel) -> dict[str, Any]:
    protocol = topology.client_speaks(channel)
    if protocol != Protocol.THRIFT:
        return {"protocol": protocol, "url": entrance(switches, places, topology.entry[channel])}
    services = {name: [str(place) for place in places.endpoints(entrance_name(name))] for name in topology.exposed}
    return {"protocol": protocol, "url": framed_url(places), "services": services}


def framed_url(places: Places, service: str = "product") -> str:
    """Where a service accepts clients' framed Thrift, as a URL for people."""
    return f"thrift://{places.endpoints(entrance_name(service))[0]}"


def network_of(switches: Switches) -> dict[str, Any]:
    """The network in front of a topology, as the load generator reads it; empty if it emulates no network."""
    if not switches.emulates_network or switches.has_edge_cache:
        return {}
    networks = switches.networks or dict.fromkeys(Channel, switches.customers_network)
    lines = {str(channel): asdict(network.line) for channel, network in networks.items()}
    return {"networks": lines, "visit": switches.visit}
