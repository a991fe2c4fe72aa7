"""`make watch`: how late customers learn of changes to their orders, and what it costs to let them wait."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from experiment.arguments import ascending, choice, choices, duration_s, topologies_of
from experiment.commands import in_blocks
from experiment.plan.arms_in_blocks import Plan, arms_of
from experiment.plan.probes import Watching
from hops.kinds.watch.document import KIND, POLL, PUSH, Asked
from mesh.description.options import Given
from mesh.description.switches import parse_switches
from mesh.description.topology import Channel

WAYS = (PUSH, POLL)
MAX_WATCHERS = 9_800
"""Number of customers of a load's tape at scale 1, the scale of `make watch` (`shopdata.go`)."""


@in_blocks.experiment(KIND)
def command(
    *, topologies: str, ways: str, watchers: str, channel: str, interval: str, common: in_blocks.Common, switches: Given
) -> Plan:
    counts, chosen = ascending("watchers", watchers, 1, MAX_WATCHERS), choices("ways", ways, WAYS)
    interval_s, entering = duration_s("interval", interval, "1s", "60s"), choice("channel", channel, Channel)
    measured = topologies_of(topologies, updates="on")
    arms, asked = [], dict[str, Asked]()
    for arm in arms_of(measured, parse_switches(**switches, updates="on")):
        alone = Asked(topology=arm.label, way="", watchers=0, interval_s=interval_s)
        asked[arm.label] = alone
        arms.append(arm)
        for way, count in product(chosen, counts):
            label = f"{arm.label}-{way}-{count}"
            arms.append(replace(arm, label=label, probe=Watching(way, count, interval_s, entering)))
            asked[label] = Asked(topology=arm.label, way=way, watchers=count, interval_s=interval_s)
    return replace(common.plan(KIND, tuple(arms)), about={KIND: asked})
