"""`make isolate topology=graphql`: how much faster others get without one kind of journey."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from experiment.commands import in_blocks
from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import Arm, Plan, arm_of
from experiment.plan.networks import refuse_networks
from experiment.plan.workload import mix_of
from hops.kinds.isolate.arms import APART, AS_IS, KIND, WITHOUT, label_of
from mesh.description.options import Given
from mesh.description.topology import Topology, load_topology


@in_blocks.experiment(KIND)
def command(
    *,
    topology: str,
    journey: str,
    common: in_blocks.Common,
    switches: Given,
) -> Plan:
    """The command `isolate`; `commands.toml` has its help."""
    isolated = load_topology(topology)
    refuse_networks(common.file, KIND)
    require_others(common.file, journey)
    return common.plan(KIND, isolate_arms(isolated, journey, switches), topology=isolated)


def isolate_arms(topology: Topology, journey: str, given: Mapping[str, str | None]) -> tuple[Arm, ...]:
    """The arms of an isolation: the tape as it is, without a kind of journey, and with that kind apart.

    Args:
        topology: The topology that all arms run.
        journey: The kind of journey.
        given: The switches, as a user gives them.

    Raises:
        UsageError: The topology cannot run with a switch, or no edge leads the kind of journey elsewhere.
    """
    as_is = arm_of(AS_IS, topology, given)
    return (
        as_is,
        replace(as_is, label=label_of(WITHOUT, journey), without=journey),
        arm_of(label_of(APART, journey), topology, {**given, "apart": journey}),
    )


def require_others(workload: Path, journey: str) -> None:
    """Checks that a workload has a kind of journey, and others beside it.

    Raises:
        UsageError: It does not; names those that it has.
    """
    kinds = sorted({kind for (kind, _), weight in mix_of(workload).items() if weight})
    if journey not in kinds:
        raise UsageError(f"journey={journey}: the workload {workload.stem} has {', '.join(kinds)}; give one of these")
    if len(kinds) == 1:
        raise UsageError(f"journey={journey}: the workload {workload.stem} has nothing else, which could gain by it")
