"""`make overload`: topologies under several times what they hold: what still works, how late, how soon it is over."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from experiment.arguments import ascending, duration_s, profile_of
from experiment.capacity.rig import Rig, TimeLeft
from experiment.capacity.search import Limit, SearchResult, climb
from experiment.capacity.step import StepPlan
from experiment.commands import in_steps, options
from experiment.errors import UsageError
from experiment.kinds import sweep
from experiment.progress import minutes
from hops.kinds.capacity.document import PEAK_PARTS, STAIRS, Step, generator_limits
from mesh.description.options import Given, Json, takes_settings
from mesh.description.topology import Topology
from mesh.runtime import Runtime

KIND: Final = "overload"
MOST_FACTOR = 100
STEP_OVERHEAD_S = 15.0
SYSTEM_OVERHEAD_S = 10.0
"""Seconds of a step and of a system that are not load."""


@dataclass(frozen=True, slots=True)
class OverloadProfile:
    """How each topology's capacity is searched, and the seconds of each part of a load."""

    name: str
    search: sweep.SweepProfile
    part_s: float


PROFILES = {
    profile.name: profile
    for profile in (
        OverloadProfile("smoke", sweep.PROFILES["smoke"], 2),
        OverloadProfile("quick", sweep.PROFILES["quick"], 10),
        OverloadProfile("full", sweep.PROFILES["full"], 30),
    )
}


@dataclass(frozen=True, slots=True)
class Overload:
    """What a user may choose, checked.

    Attributes:
        profile: How long everything lasts.
        factors: Peaks, each in units of what the topology holds.
        objective_ms: Limit of p99 that says what it holds, ms.
        capacity: Journeys a second that each topology holds, by its name; searched where it is missing.
    """

    profile: OverloadProfile
    factors: tuple[int, ...]
    objective_ms: float
    capacity: Mapping[str, float]

    @property
    def searching(self) -> sweep.Sweep:
        """How what a topology holds is searched."""
        return sweep.Sweep(self.profile.search, self.objective_ms, sweep.DEFAULT_START, sweep.DEFAULT_HIGHEST)

    def expected_s(self, topology: str) -> float:
        """Seconds that one topology should take."""
        loads = len(self.factors) * (len(STAIRS) * self.profile.part_s + STEP_OVERHEAD_S)
        searching = 0.0 if topology in self.capacity else self.searching.expected_search_s
        return SYSTEM_OVERHEAD_S + searching + loads

    def announcement(self, topologies: Sequence[Topology]) -> str:
        """What an overload of these topologies will do, and how long it will take."""
        names = [topology.name for topology in topologies]
        peaks = ", ".join(str(factor) for factor in self.factors)
        return (
            f"Overload of {', '.join(names)}: {peaks} times what each holds; "
            f"{minutes(sum(map(self.expected_s, names)))}."
        )


@takes_settings(KIND)
def command(
    *,
    topologies: str,
    factors: str,
    capacity: str | None,
    objective: str,
    profile: str,
    seed: str,
    workload: str,
    switches: Given,
    strict: str | None,
    as_json: Json = False,
) -> None:
    """The command `overload`; `commands.toml` has its help."""
    with options.reported_errors():
        setup = in_steps.setup_of(KIND, topologies, seed, workload, **switches)
        chosen = Overload(
            profile=profile_of(PROFILES, profile),
            factors=ascending("factors", factors, 1, MOST_FACTOR),
            objective_ms=1e3 * duration_s("objective", objective, "1ms", sweep.HIGHEST_OBJECTIVE),
            capacity=parse_capacity(capacity or "", [topology.name for topology in setup.topologies]),
        )
        in_steps.run(
            KIND,
            setup,
            asdict(chosen),
            lambda rig: overload(chosen, rig),
            announcement=chosen.announcement(setup.topologies),
            strict=strict,
            as_json=as_json,
        )


def parse_capacity(given: str, measured: list[str]) -> Mapping[str, float]:
    """Reads what topologies hold, `rest:90,grpc:120`.

    Raises:
        UsageError: A topology is not measured, or a rate is no number from 1 to 10,000.
    """
    rates = {}
    for part in filter(None, (part.strip() for part in given.split(","))):
        name, _, rate = part.partition(":")
        if name not in measured:
            raise UsageError(f"capacity={given}: {name} is not measured; measured are {', '.join(measured)}")
        try:
            value = float(rate)
        except ValueError:
            value = math.nan
        if not 1 <= value <= sweep.HIGHEST_RATE:
            raise UsageError(f"capacity={given}: give journeys per second, from 1 to {sweep.HIGHEST_RATE:g}")
        rates[name] = value
    return rates


def overload(options: Overload, rig: Rig) -> None:
    """Overloads every topology, with one peak after the other on the same system."""

    def measure(topology: Topology, left: TimeLeft) -> SearchResult:
        warm_s = options.profile.search.warmup_s
        with rig.started(topology, topology.name, warm_rate=sweep.DEFAULT_START, warm_s=warm_s) as system:
            found = _held(options, rig, system, left)
            held = found.rate
            for factor in options.factors if held else ():
                plan = StepPlan(KIND, len(STAIRS) * options.profile.part_s, held or 0.0, factor=factor)
                step = rig.step(system, topology.name, plan)
                rig.recorder.step(step)
                rig.say(f"{told(step)}; {left()}")
        return found

    rig.each_topology(max(options.expected_s(topology.name) for topology in rig.setup.topologies), measure)


def _held(options: Overload, rig: Rig, system: Runtime, left: TimeLeft) -> SearchResult:
    name = system.topology.name
    if given := options.capacity.get(name):
        return SearchResult(given, None, "unknown")
    bracket = climb(
        lambda rate: sweep.replayed(options.searching, rig, system, name, rate, "search", left), options.searching.plan
    )
    limit: Limit = "unknown" if bracket.failed is None else "generator" if bracket.generator_limited else "shop"
    return SearchResult(bracket.held, bracket.failed, limit)


def told(step: Step) -> str:
    """A peak in one line."""
    p99 = step["latency_ms"]["p99"]
    latency = "none ok" if p99 is None else f"p99 {p99:.0f} ms"
    recovery = "none when the load ended" if step["recovery_s"] is None else f"after {step['recovery_s']:g} s"
    limited = ", GENERATOR AT ITS LIMIT" if generator_limits(step) else ""
    return (
        f"{step['rate']:g}/s for {PEAK_PARTS * step['duration_s'] / len(STAIRS):g} s: "
        f"{step['throughput_per_s']:.0f}/s ok, {latency}, recovery {recovery}{limited}"
    )
