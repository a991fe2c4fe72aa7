"""The shop that proofs inject faults into: its services on fresh data, which customers call directly."""

from __future__ import annotations

import os
from collections.abc import Mapping

from mesh.description.ports import Ports, replica_name
from mesh.description.switches import parse_switches
from mesh.description.topology import Protocol, load_topology, port_name
from mesh.native.system import System


def new_shop(
    ports: Ports,
    *,
    replicas: str = "",
    cached: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> System:
    """Makes a shop that delivers order updates; it is not started yet. The environment is this process's by default.

    `cached` has the services' settings for a cache in front of the database; None for no cache. Raises SwitchError for
    an invalid number of replicas, or a component that does not run here.
    """
    topology = load_topology("hybrid", updates="on")
    cache = "none" if cached is None else "valkey"
    switches = parse_switches(edge="none", http="1", updates="on", cache=cache, replicas=replicas)
    # Always a cache that the run starts, because the proof kills it.
    given = os.environ if environ is None else environ
    own = {name: value for name, value in given.items() if name != "CACHE_URL"}
    settings = {"OTEL_EXPORTER_OTLP_ENDPOINT": "", **(cached or {})}
    extra = dict.fromkeys(topology.services, settings)
    return System(topology, switches, ports, "chaos", environ=own, extra=extra)


def address_of(shop: System, service: str) -> str:
    """Returns the address of all replicas of a service."""
    return f"grpc://{','.join(map(str, shop.ports.endpoints(port_name(service, Protocol.GRPC))))}"


def processes_of(shop: System, service: str) -> list[str]:
    return [replica_name(service, replica) for replica in shop.ports.replicas_of(service)]
