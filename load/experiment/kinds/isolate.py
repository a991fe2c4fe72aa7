"""`make isolate topology=graphql`: how much faster the other journeys get without one kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from experiment.commands import in_blocks
from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import Arm, Plan, arm_of, is_target
from experiment.plan.networks import refuse_networks
from hops.kinds.isolate.document import APART, AS_IS, KIND, WITHOUT, label_of
from mesh.description.options import Given
from mesh.description.topology import Topology


@in_blocks.experiment(KIND)
def command(*, topology: str, journey: str, common: in_blocks.Common, switches: Given) -> Plan:
    isolated, *others = common.read_measured(topology)
    if others:
        names = ", ".join(one.name for one in (isolated, *others))
        raise UsageError(f"`make {KIND}` measures one target; give targets= one of {names}")
    refuse_networks(common.file, KIND)
    require_others(common.file.stem, common.mix, journey)
    return common.plan(KIND, isolate_arms(isolated, journey, switches), topology=isolated)


def isolate_arms(topology: Topology, journey: str, given: Mapping[str, str | None]) -> tuple[Arm, ...]:
    """Makes the arms of an isolation experiment: all journeys, without one kind, with separate components for it.

    Raises:
        UsageError: The topology cannot run with a switch, or has no edge that could route the kind separately.
    """
    as_is = arm_of(AS_IS, topology, given)
    without = replace(as_is, label=label_of(WITHOUT, journey), without=journey)
    if is_target(topology):  # a target's components cannot be separated from here
        return as_is, without
    return as_is, without, arm_of(label_of(APART, journey), topology, {**given, "apart": journey})


def require_others(name: str, mix: Mapping[tuple[str, str], float], journey: str) -> None:
    """Raises UsageError unless a workload has the given kind of journey and at least one other kind."""
    kinds = sorted({kind for (kind, _), weight in mix.items() if weight})
    if journey not in kinds:
        raise UsageError(f"journey={journey}: the workload {name} has no such journey; valid: {', '.join(kinds)}")
    if len(kinds) == 1:
        raise UsageError(f"journey={journey}: the workload {name} has no other journey that could gain from it")
