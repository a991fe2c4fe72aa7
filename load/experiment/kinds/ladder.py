"""`make ladder topology=hybrid`: what each layer in front of, around and inside a topology adds, measured twice."""

from __future__ import annotations

from collections.abc import Sequence

from experiment.arguments import choices
from experiment.commands import in_blocks
from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import Arm, Plan, arm_of
from experiment.plan.axis import ONLY_WITH_EDGE, require_http_1
from experiment.plan.networks import refuse_networks
from hops.kinds.ladder import arms as ladder
from mesh.description.options import Given
from mesh.description.topology import Topology, load_topology


@in_blocks.experiment(ladder.KIND)
def command(*, topology: str, steps: str, common: in_blocks.Common, switches: Given) -> Plan:
    climbed = load_topology(topology, updates="on" if ladder.UPDATES in steps else "off")
    refuse_networks(common.file, ladder.KIND)
    return common.plan(ladder.KIND, ladder_arms(climbed, steps, **switches), topology=climbed)


def ladder_arms(
    topology: Topology, steps: str, *, http: str | None = None, trace: str | None = None, payload: str | None = None
) -> tuple[Arm, ...]:
    """Makes the arms of a ladder, in the ladder's order.

    Args:
        topology: The topology that all arms run; the arm `updates` runs its notification service too.
        steps: Arms, comma-separated, in any order; empty for every arm that the topology can run on this machine.
        http: HTTP version of the clients, the same in all arms; None means 1 if an arm has no edge.
        trace: Share of journeys to trace in the arms that trace; None for the switch's default.

    Raises:
        UsageError: An arm is unknown, is given twice, has no arm to be compared with, or cannot run; or no journeys
            would be both traced and untraced.
    """
    names = _parse_steps(steps) if steps else _all(topology, http)
    if ladder.NO_EDGE in names:
        require_http_1(http, "steps", ladder.NO_EDGE)
        http = http or "1"
    without_updates = topology.without_updates() if topology.has_updates else topology
    arms = tuple(
        arm_of(
            name,
            topology if name == ladder.UPDATES else without_updates,
            {"http": http, "trace": trace, "payload": payload, **ladder.SWITCHES.get(name, {})},
        )
        for name in names
    )
    if any(not 0 < arm.switches.trace < 1 for arm in arms if arm.label != ladder.UNTRACED):
        raise UsageError(
            f"trace={trace}: a ladder needs journeys that are traced and journeys that are not; give a share between 0 "
            "and 1, such as 0.2"
        )
    return arms


def _all(topology: Topology, http: str | None) -> Sequence[str]:
    without_edge = topology.entered_by_gateways and http not in ONLY_WITH_EDGE
    return [name for name in ladder.ON_THIS_MACHINE if name != ladder.NO_EDGE or without_edge]


def _parse_steps(steps: str) -> Sequence[str]:
    given = choices("steps", steps, ladder.ARMS)
    compared = {arm for step in ladder.steps_of(given) for arm in (step.lower, step.upper)}
    alone = [name for name in given if name not in compared]
    partners = {name: ladder.CLUSTER if name == ladder.CLUSTER_ISTIO else ladder.EDGE for name in alone}
    missing = {name: partner for name, partner in partners.items() if partner not in given}
    if missing:
        raise UsageError(
            f"steps={steps}: there is nothing to compare {' and '.join(missing)} with; "
            f"add {' and '.join(dict.fromkeys(missing.values()))}"
        )
    if alone:
        raise UsageError(
            f"steps={steps}: {ladder.EDGE} alone is not a step; add one of "
            f"{', '.join(arm for arm in ladder.ARMS if arm != ladder.EDGE)}"
        )
    return [name for name in ladder.ARMS if name in given]
