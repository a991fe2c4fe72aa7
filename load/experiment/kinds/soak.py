"""`make soak`: topologies under a long load, and whether resource use or latencies grow when they should not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

from experiment.arguments import number_in
from experiment.blocks import expected_s
from experiment.commands import in_blocks
from experiment.plan.arms_in_blocks import Plan, arms_of, read_switches
from experiment.plan.networks import refuse_networks
from experiment.plan.probes import Looking
from experiment.plan.profiles import Profile
from experiment.progress import minutes as in_words
from hops.kinds.soak.analysis import KIND, MINUTE_S
from mesh.description.options import Given

MIN_MINUTES, MAX_MINUTES = 1.0, 24 * 60.0
WARMUP_S, PARITY_SAMPLES = 10, 3
MIN_LOOKS = 120
MIN_INTERVAL_S, MAX_INTERVAL_S = 0.5, 30.0
"""Seconds between two samples; each sample costs every component some kernel time."""


def announce(plan: Plan) -> Iterator[str]:
    """Says what will run, and how long it takes."""
    names = ", ".join(arm.label for arm in plan.arms)
    length = f"{plan.profile.duration_s / MINUTE_S:g} minutes of load on each"
    yield f"Soak of {names}: {length}; {in_words(expected_s(plan))}. Ctrl-C keeps finished trials."


@in_blocks.experiment(KIND, announce=announce)
def command(*, topologies: str, minutes: str, common: in_blocks.Common, switches: Given) -> Plan:
    length = number_in("minutes", minutes, MIN_MINUTES, MAX_MINUTES, "minutes")
    refuse_networks(common.file, KIND)
    measured = common.read_measured(topologies, updates=switches.get("updates") or "off")
    duration_s = ceil(MINUTE_S * length)
    probe = Looking(min(max(duration_s / MIN_LOOKS, MIN_INTERVAL_S), MAX_INTERVAL_S))
    arms = arms_of(measured, read_switches(measured, switches))
    plan = common.plan(KIND, tuple(replace(arm, probe=probe) for arm in arms))
    return replace(plan, profile=Profile(KIND, WARMUP_S, duration_s, plan.profile.rate, PARITY_SAMPLES))
