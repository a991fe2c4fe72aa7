"""`make compare`: several topologies under one load, in blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import typer

from experiment.commands import in_blocks
from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import Arm, Plan, arm_of, arms_of, read_switches
from experiment.plan.closed_loop import parse_closed_loop
from experiment.plan.networks import channel_networks
from experiment.plan.precision import require_attainable
from mesh.description.network import Network as ChannelNetwork
from mesh.description.options import Given
from mesh.description.topology import Topology

KIND = "compare"
NO_EDGE = "none"


@in_blocks.experiment(KIND)
def command(
    *,
    topologies: str,
    common: in_blocks.Common,
    switches: Given,
    edges: str | None,
    edge_caches: str | None,
    vus: str | None,
    think: str | None,
) -> Plan:
    """The command `compare`; `commands.toml` has its help."""
    compared = common.read_measured(topologies, updates=switches.get("updates") or "off")
    networks = channel_networks(common.file)
    if edge_caches:
        arms = edge_cache_arms(compared, edge_caches, edges, switches, networks)
    elif edges:
        arms = edge_arms(compared, edges, switches, networks)
    else:
        arms = arms_of(compared, read_switches(compared, switches, networks))
    if not switches["http"] and any(arm.switches.edge == NO_EDGE for arm in arms):
        typer.echo(
            "Clients of every arm speak HTTP/1.1: without an edge they reach gateways that speak nothing else.",
            err=True,
        )
    plan = common.plan(KIND, arms, parse_closed_loop(vus=vus, think=think, rate=common.rate))
    if plan.precision is not None:
        require_attainable(plan, in_blocks.foreseen(plan))
    return plan


def edge_cache_arms(
    topologies: Sequence[Topology],
    edge_caches: str,
    edges: str | None,
    given: Mapping[str, str | None],
    networks: Mapping[str, ChannelNetwork] | None = None,
) -> tuple[Arm, ...]:
    """Makes an arm for each topology without and with a shared cache, such as `rest` and `rest-edge-cache`.

    Args:
        topologies: The topologies.
        edge_caches: `none,varnish`.
        edges: The setting `edges`, which must be empty.
        given: The other switches, as a user gives them. The cache speaks no TLS, so no arm does.
        networks: Each channel's network, where the workload says so.

    Raises:
        UsageError: The value is not `none,varnish`, a switch contradicts it, or a topology cannot run with a cache.
    """
    names = [name.strip() for name in edge_caches.split(",")]
    if sorted(names) != ["none", "varnish"]:
        raise UsageError(f"edge_caches={edge_caches} is not valid; valid: none,varnish")
    if edges or given.get("edge_cache"):
        raise UsageError(f"edge_caches={edge_caches} cannot be combined with edges= or edge_cache=; leave these out")
    given = {**given, "tls": given.get("tls") or "off"}
    return tuple(
        arm_of(
            topology.name if name == "none" else f"{topology.name}-edge-cache",
            topology,
            {**given, "edge_cache": name},
            networks,
            compared=topologies,
        )
        for topology in topologies
        for name in names
    )


def edge_arms(
    topologies: Sequence[Topology],
    edges: str,
    given: Mapping[str, str | None],
    networks: Mapping[str, ChannelNetwork] | None = None,
) -> tuple[Arm, ...]:
    """Makes an arm for each topology with each edge, such as `hybrid-kong` and `hybrid-no-edge`.

    Args:
        topologies: The topologies.
        edges: Names of the edges, comma-separated.
        given: The other switches, as a user gives them. An arm without an edge has no plugins, and its gateways speak
            only HTTP/1.1. With such an arm, clients of all arms speak HTTP/1.1.
        networks: Each channel's network, where the workload says so.

    Raises:
        UsageError: An edge is unknown or given twice, a switch contradicts it, or a topology cannot run with it.
    """
    names = [name.strip() for name in edges.split(",")]
    if len(set(names)) < len(names):
        raise UsageError(f"edges={edges}: give each edge once")
    if given.get("edge"):
        raise UsageError(f"edges={edges} and edge={given['edge']} contradict each other: give one of them")
    if NO_EDGE in names:
        if given.get("http") == "2":
            raise UsageError(
                "http=2: without an edge, gateways speak HTTP/1.1 only, and all arms must speak the same version; "
                f"leave out http=2, or give edges= without {NO_EDGE}"
            )
        given = {**given, "http": "1"}
    return tuple(
        arm_of(
            f"{topology.name}-{'no-edge' if name == NO_EDGE else name}",
            topology,
            {**given, "edge": name, **({"plugins": None} if name == NO_EDGE else {})},
            networks,
            compared=topologies,
        )
        for topology in topologies
        for name in names
    )
