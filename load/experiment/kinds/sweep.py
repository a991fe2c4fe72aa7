"""`make sweep`: the highest rate that a topology holds, and how its latency grows on the way there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import count
from math import ceil

from experiment.arguments import duration_s, number, profile_of
from experiment.capacity.rig import Rig, TimeLeft
from experiment.capacity.search import Plan, SearchResult, Seen, climb, confirm
from experiment.capacity.step import StepPlan
from experiment.commands import in_steps, options
from experiment.errors import UsageError
from experiment.progress import minutes
from hops.gates.limits import gate_failure, kind_of
from hops.kinds.capacity.document import Phase, Step, gate_value, generator_limits
from mesh.description.options import Given, Json, takes_settings
from mesh.description.topology import Topology
from mesh.runtime import Runtime

LEAST_JOURNEYS = 420
"""Fewer journeys leave the upper end of p99's 95 % interval unknown: 0.99^n must be below 2.5 %, so n above 366; the
rest is for tapes that have fewer journeys than their rate says, and for failures."""
HOLDING_GATES = ("failure_share", "tape_unsent")
"""Gates that a rate must meet to hold, beside the objective."""
CLEARLY = 5.0
"""A rate is clearly too high, and not tried again, when it misses the objective by this factor."""
CLEAR_FAILURE_SHARE = 0.01
STEP_OVERHEAD_S = 3.5
"""Seconds of a step that are not load: its tape, the generator's start, reading the rows, coming to rest, the audit."""
SYSTEM_OVERHEAD_S = 9.0
"""Seconds to start, check and stop a system."""

DEFAULT_START = 20.0
HIGHEST_OBJECTIVE = "5s"
"""No journey takes longer: then the generator gives it up."""
DEFAULT_HIGHEST = 1_000.0
HIGHEST_RATE = 10_000.0


@dataclass(frozen=True, slots=True)
class SweepProfile:
    """How long a sweep looks at each rate.

    Attributes:
        name: Name that the user gives.
        warmup_s: Seconds of load before the first step on a system; not counted.
        shortest_s: Shortest duration of a step.
        longest_s: Longest duration of a step; in between, it lasts as long as `LEAST_JOURNEYS` take.
        confirm_s: Shortest duration of a confirmation, which may take four times as long for `LEAST_JOURNEYS`.
        precision: Where the search ends (`capacity.search.Plan`).
        most_steps: Most replays of a search.
        most_confirmations: Most replays that confirm.
    """

    name: str
    warmup_s: float
    shortest_s: float
    longest_s: float
    confirm_s: float
    precision: float
    most_steps: int
    most_confirmations: int


PROFILES = {
    profile.name: profile
    for profile in (
        SweepProfile("smoke", 2, 3, 5, 5, 1.5, most_steps=4, most_confirmations=2),
        SweepProfile("quick", 5, 10, 22, 30, 1.05, most_steps=12, most_confirmations=3),
        SweepProfile("full", 10, 30, 60, 120, 1.03, most_steps=16, most_confirmations=5),
    )
}


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a user may choose for a sweep, checked.

    Attributes:
        profile: How long each rate is looked at.
        objective_ms: Limit of p99, ms.
        start: The first rate, journeys a second.
        highest: No rate above it is tried.
    """

    profile: SweepProfile
    objective_ms: float
    start: float
    highest: float

    @property
    def plan(self) -> Plan:
        """The bounds of each topology's search."""
        profile = self.profile
        return Plan(
            start=self.start,
            highest=self.highest,
            lowest=min(self.start, ceil(LEAST_JOURNEYS / (4 * profile.confirm_s))),
            precision=profile.precision,
            most_steps=profile.most_steps,
            most_confirmations=profile.most_confirmations,
        )

    @property
    def expected_search_s(self) -> float:
        """Seconds that the search on one system should take."""
        return self.profile.warmup_s + min(self.profile.most_steps, 9) * (self.profile.shortest_s + STEP_OVERHEAD_S)

    @property
    def expected_s(self) -> float:
        """Seconds that one topology should take."""
        profile = self.profile
        confirmation = profile.confirm_s + STEP_OVERHEAD_S + SYSTEM_OVERHEAD_S + profile.warmup_s
        return self.expected_search_s + SYSTEM_OVERHEAD_S + 1.5 * confirmation

    def announcement(self, topologies: Sequence[Topology]) -> str:
        """What a sweep of these topologies will do, and how long it will take."""
        names = ", ".join(topology.name for topology in topologies)
        return (
            f"Sweep of {names}: p99 below {self.objective_ms:g} ms, from {self.start:g} up to {self.highest:g} "
            f"journeys a second; {minutes(len(topologies) * self.expected_s)}."
        )


@takes_settings("sweep")
def command(
    *,
    topologies: str,
    objective: str,
    profile: str,
    start: str | None,
    max: str,  # noqa: A002 - as users give it
    seed: str,
    workload: str,
    switches: Given,
    strict: str | None,
    as_json: Json = False,
) -> None:
    """The command `sweep`; `commands.toml` has its help."""
    with options.reported_errors():
        first, last = rates(start, max)
        setup = in_steps.setup_of("sweep", topologies, seed, workload, **switches)
        chosen = Sweep(
            profile=profile_of(PROFILES, profile),
            objective_ms=1e3 * duration_s("objective", objective, "1ms", HIGHEST_OBJECTIVE),
            start=first,
            highest=last,
        )
        kept = {**asdict(chosen), "plan": asdict(chosen.plan), "failures_below": kind_of("failure_share").limit}
        in_steps.run(
            "sweep",
            setup,
            kept,
            lambda rig: sweep(chosen, rig),
            announcement=chosen.announcement(setup.topologies),
            strict=strict,
            as_json=as_json,
        )


def rates(start: str | None, highest: str) -> tuple[float, float]:
    """Reads the first and the highest rate of a sweep, journeys a second.

    Raises:
        UsageError: One is no number from 1 to 10,000, or the first is above the highest.
    """
    first, last = number("start", start), number("max", highest)
    for name, value in (("start", first), ("max", last)):
        if value is not None and not 1 <= value <= HIGHEST_RATE:
            raise UsageError(f"{name}={value:g} is out of range: give journeys per second, from 1 to {HIGHEST_RATE:g}")
    assert last is not None
    first = min(DEFAULT_START, last) if first is None else first
    if first > last:
        raise UsageError(f"start={first:g} is above max={last:g}: give a start of at most max")
    return first, last


def step_s(rate: float, profile: SweepProfile, phase: Phase) -> float:
    """Seconds of a step at a rate: as long as p99 needs, within the profile's bounds."""
    needed = LEAST_JOURNEYS / rate
    if phase == "confirm":
        return float(ceil(min(max(needed, profile.confirm_s), 4 * profile.confirm_s)))
    return float(ceil(min(max(needed, profile.shortest_s), profile.longest_s)))


def judged(step: Step, objective_ms: float) -> Step:
    """Adds the verdict to a step.

    A step of the search holds if p99 itself is under the objective, one that confirms if the upper end of its 95 %
    interval is; both only if the gates on failures and on the whole tape hold too.
    """
    confirms = step["phase"] == "confirm"
    p99 = step["latency_ci95"]["p99"][1] if confirms else step["latency_ms"]["p99"]
    reasons = []
    if p99 is None:
        reasons.append(f"{step['generator']['journeys']} journeys are too few for p99")
    elif p99 >= objective_ms:
        what = "the upper bound of p99" if confirms else "p99"
        reasons.append(f"{what} is {p99:.0f} ms, not below {objective_ms:g}")
    reasons += [gate_failure(gate) for gate in step["gates"] if gate["name"] in HOLDING_GATES and not gate["ok"]]
    return {**step, "holds": not reasons, "reasons": reasons}


def seen(step: Step, objective_ms: float) -> Seen:
    """What a judged step says to the search."""
    assert step["rate"] is not None
    p99, failures = step["latency_ms"]["p99"], gate_value(step, "failure_share")
    clear = (p99 is not None and p99 >= CLEARLY * objective_ms) or (
        failures is not None and failures >= CLEAR_FAILURE_SHARE
    )
    return Seen(step["rate"], bool(step["holds"]), clear, bool(generator_limits(step)))


def replayed(options: Sweep, rig: Rig, system: Runtime, name: str, rate: float, phase: Phase, left: TimeLeft) -> Seen:
    """Replays once at a rate, and judges it.

    Args:
        options: What the verdict depends on, and how long the replay is.
        rig: Loads the system, and keeps the step.
        system: A system that runs already, and is warm.
        name: Name of the system's folder.
        rate: Journeys a second.
        phase: What the replay is for.
        left: Says how long the rest of the run takes.
    """
    planned = StepPlan(phase, step_s(rate, options.profile, phase), rate)
    step = judged(rig.step(system, name, planned), options.objective_ms)
    rig.recorder.step(step)
    rig.say(f"{told(step)}; {left()}")
    return seen(step, options.objective_ms)


def sweep(options: Sweep, rig: Rig) -> None:
    """Sweeps every topology."""

    def measure(topology: Topology, left: TimeLeft) -> SearchResult:
        plan, warm_s = options.plan, options.profile.warmup_s
        names = (f"{topology.name}-confirm-{number}" for number in count(1))

        def confirmation(rate: float) -> Seen:
            name = next(names)
            rig.say(f"confirming {rate:g}/s on a freshly started system")
            with rig.started(topology, name, warm_rate=rate, warm_s=warm_s) as system:
                return replayed(options, rig, system, name, rate, "confirm", left)

        with rig.started(topology, topology.name, warm_rate=plan.start, warm_s=warm_s) as system:
            bracket = climb(lambda rate: replayed(options, rig, system, topology.name, rate, "search", left), plan)
        return confirm(confirmation, bracket, plan)

    rig.each_topology(options.expected_s, measure)


def told(step: Step) -> str:
    """A step in one line."""
    p99 = step["latency_ms"]["p99"]
    verdict = "holds" if step["holds"] else f"does not hold ({'; '.join(step['reasons'])})"
    limited = ", GENERATOR AT ITS LIMIT" if generator_limits(step) else ""
    return f"{step['phase']} {step['rate']:g}/s: p99 {'none' if p99 is None else f'{p99:.0f} ms'}, {verdict}{limited}"
