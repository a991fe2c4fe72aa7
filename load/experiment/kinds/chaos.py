"""`make chaos`: what fails when faults strike topologies, how soon they recover, and whether their data are correct."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import typer

from experiment.arguments import topologies_of
from experiment.blocks import Makers, expected_s
from experiment.commands import in_blocks
from experiment.errors import UsageError
from experiment.faults.faults import FAULTS, TargetedFault, parse_faults, unavailable
from experiment.plan.arms_in_blocks import Arm, Plan, in_comparison
from experiment.plan.networks import refuse_networks
from experiment.plan.own_load import OwnLoad
from experiment.progress import minutes
from experiment.trial.outcome import Trial
from hops.conclusions.wording import plural
from hops.kinds.chaos.document import KIND
from mesh.description.options import Given
from mesh.description.switches import parse_switches
from mesh.errors import TopologyError

USUAL = "kill,crash,restart,readonly,rolling"
USUAL_IN_CLUSTER = "evict,drain"


def run_struck(*arguments: Any, **options: Any) -> Trial:
    """Runs the trial of one fault.

    `experiment.faults.trial` is imported only here, so that wrong settings are reported before this slow import.
    """
    from experiment.faults import trial

    refuse_other_stores()
    return trial.run_struck(*arguments, **options)


def announce(plan: Plan) -> Iterator[str]:
    """Says what will run, and how long it takes."""
    names = ", ".join(dict.fromkeys(arm.topology.name for arm in plan.arms))
    yield (
        f"{plural(len(plan.trials()), 'fault')} of {names}, in random order, {minutes(expected_s(plan))}. "
        "Ctrl-C keeps finished trials."
    )


@in_blocks.experiment(KIND, makers=Makers(run=run_struck), announce=announce)
def command(*, topologies: str, faults: str | None, common: in_blocks.Common, switches: Given) -> Plan:
    refuse_other_stores()
    refuse_networks(common.file, KIND)
    in_cluster = parse_switches(**switches).in_cluster
    if faults is None:
        faults = USUAL_IN_CLUSTER if in_cluster else USUAL
    if "all" in faults.split(","):
        for kind, needed in unavailable(in_cluster=in_cluster).items():
            typer.echo(f"LEFT OUT: {kind}, which needs {needed}.", err=True)
    return with_faults_in_loads(common.plan(KIND, arms_of_faults(topologies, faults, switches)))


def refuse_other_stores() -> None:
    """Raises UsageError if the environment names a store, which the run would not start itself."""
    elsewhere = [name for name in ("DATABASE_URL", "CACHE_URL") if os.environ.get(name)]
    if elsewhere:
        them = "both" if len(elsewhere) > 1 else "it"
        raise UsageError(
            f"{' and '.join(elsewhere)}: faults can only strike stores that the run itself starts; unset {them}"
        )


def arms_of_faults(topologies: str, faults: str, switches: Mapping[str, str | None]) -> tuple[Arm, ...]:
    """Makes an arm for each topology and fault, such as `rest-kill-order`; raises UsageError if one is invalid."""
    try:
        struck, updates = topologies_of(topologies, updates="on"), "on"
    except TopologyError:
        # If a topology has no notification service, or is invalid in another way, this call reports that.
        struck, updates = topologies_of(topologies, updates="off"), "off"
    parsed = parse_switches(**switches, updates=updates)
    return tuple(
        Arm(
            f"{topology.name}-{fault.kind}-{fault.target}",
            topology,
            in_comparison(topology, parsed, struck),
            fault=str(fault),
        )
        for topology in struck
        for fault in parse_faults(faults, struck, parsed)[topology.name]
    )


def with_faults_in_loads(plan: Plan) -> Plan:
    """Allows journeys to fail under the plan's loads, and lengthens loads whose fault would outlast the profile's."""

    def under_fault(arm: Arm) -> Arm:
        fault = TargetedFault.parse(arm.fault)
        more_s = FAULTS[fault.kind].longer_s(arm.topology, arm.switches, fault.target)
        sending = replace(plan.sending(arm), duration_s=plan.profile.duration_s + more_s, overload=True)
        return replace(arm, load=OwnLoad(f"{sending.duration_s:g}-seconds", (), sending))

    return replace(plan, arms=tuple(map(under_fault, plan.arms)))
