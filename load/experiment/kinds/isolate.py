"""`make isolate topology=graphql`: what others gain if one kind of journey is taken away from beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from experiment.arguments import checked_seed, number, whole_number, workload_file
from experiment.commands import in_blocks, options
from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import MOST_BLOCKS, Arm, Plan, arm_of
from experiment.plan.mix import mix_of
from experiment.plan.networks import refuse_networks
from experiment.plan.profiles import profile_named
from hops.kinds.isolate.arms import APART, AS_IS, KIND, WITHOUT, label_of
from mesh.description.options import Given, Json, TopologyName, takes_switches
from mesh.description.topology import Topology, load_topology

Journey = Annotated[str, typer.Option(help="Kind of journey to take away from beside the others.")]


@takes_switches(KIND)
def command(
    *,
    given: typer.Context,
    topology: TopologyName = "hybrid",
    journey: Journey = "bulk_lines",
    blocks: in_blocks.Blocks = "6",
    profile: in_blocks.Profile = "compare",
    rate: options.Rate = None,
    seed: options.Seed = "1",
    workload: options.Workload = "default",
    switches: Given,
    resume: in_blocks.Resume = "",
    retry: in_blocks.Retry = "0",
    as_json: Json = False,
) -> None:
    """The command `isolate`; `experiment.cli` has its help."""

    def plan() -> Plan:
        isolated, file = load_topology(topology), workload_file(workload)
        refuse_networks(file, KIND)
        require_others(file, journey)
        return Plan(
            kind=KIND,
            name=f"{KIND}-{isolated.name}",
            arms=isolate_arms(isolated, journey, switches),
            blocks=whole_number("blocks", blocks, 1, MOST_BLOCKS),
            profile=profile_named(profile, rate=number("rate", rate)),
            seed=checked_seed(seed),
            workload=file,
        )

    in_blocks.run(given, KIND, plan, resume=resume, retry=retry, as_json=as_json)


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
