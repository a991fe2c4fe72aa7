"""`make connections`: the memory of each component at each number of open connections."""

from __future__ import annotations

from dataclasses import replace

from experiment.arguments import ascending, topologies_of
from experiment.commands import in_blocks
from experiment.plan.arms_in_blocks import Plan, arms_of
from experiment.plan.own_load import OwnLoad, Sending
from experiment.plan.probes import Holding
from experiment.plan.profiles import profile_named
from hops.kinds.connections.memory import KIND
from mesh.description.options import Given
from mesh.description.switches import MAX_CONNECTIONS, SWITCHES, parse_switches


@in_blocks.experiment(KIND)
def command(*, topologies: str, connections: str, common: in_blocks.Common, switches: Given) -> Plan:
    counts, profile = ascending("connections", connections, 0, MAX_CONNECTIONS), profile_named(common.profile)
    # The switch raises the processes' open-file limits; the load itself uses the usual number of connections.
    parsed = parse_switches(**switches, connections=str(max(counts[-1], 1)))
    usual = int(SWITCHES["connections"].default)
    sending = Sending(profile.warmup_s, profile.duration_s, profile.rate, connections=usual)
    load, probe = OwnLoad("usual", (), sending), Holding(counts)
    arms = arms_of(topologies_of(topologies), parsed)
    return common.plan(KIND, tuple(replace(arm, load=load, probe=probe) for arm in arms))
