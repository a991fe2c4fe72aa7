"""The arms of a comparison of edges: each topology with each of them, and otherwise alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experiment.errors import UsageError
from experiment.plan.plan import Arm, arm_of
from mesh.description.network import Network
from mesh.description.topology import Topology

NONE = "none"


def edge_arms(
    topologies: Sequence[Topology],
    edges: str,
    given: Mapping[str, str | None],
    networks: Mapping[str, Network] | None = None,
) -> tuple[Arm, ...]:
    """An arm for each topology with each edge, such as `hybrid-kong` and `hybrid-no-edge`.

    Args:
        topologies: The topologies.
        edges: Names of the edges, comma-separated.
        given: The other switches, as a user gives them. Without an edge there are no plugins, and clients reach
            gateways that speak HTTP/1.1 only, so they speak it in all arms then.
        networks: Each channel's network, where the workload says so.

    Raises:
        UsageError: An edge is unknown or given twice, a switch contradicts it, or a topology cannot run with it.
    """
    names = [name.strip() for name in edges.split(",")]
    if len(set(names)) < len(names):
        raise UsageError(f"edges={edges}: give each edge once")
    if given.get("edge"):
        raise UsageError(f"edges={edges} and edge={given['edge']} contradict each other: give one of them")
    if NONE in names:
        if given.get("http") == "2":
            raise UsageError(
                "http=2: clients of the arm without an edge reach gateways that speak HTTP/1.1 only, and all arms must "
                f"speak the same; leave out http=2, or give edges= without {NONE}"
            )
        given = {**given, "http": "1"}
    return tuple(
        arm_of(
            f"{topology.name}-{'no-edge' if name == NONE else name}",
            topology,
            {**given, "edge": name, **({"plugins": None} if name == NONE else {})},
            networks,
            compared=topologies,
        )
        for topology in topologies
        for name in names
    )
