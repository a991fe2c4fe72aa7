"""`make sweep`: the highest rate that a topology holds, and how its latency grows on the way there."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil

from experiment.capacity.document import Recorder, TopologyResult
from experiment.capacity.rig import Bench, Setup
from experiment.capacity.search import Found, Plan, Seen, climb, confirm
from experiment.capacity.step import Load, Phase, Step
from experiment.errors import UsageError
from experiment.progress import Progress, minutes
from mesh.errors import MeshError
from mesh.system import System
from mesh.topology import Topology

#: Fewer journeys leave the upper end of p99's 95 % interval unknown: 0.99^n must be below 2.5 %, so n above 366; the
#: rest is for tapes that have fewer journeys than their rate says, and for failures.
LEAST_JOURNEYS = 420
FAILURES_BELOW = 0.001
#: A rate is clearly too high, and not tried again, when it misses the objective by this factor.
CLEARLY = 5.0
CLEAR_FAILURE_SHARE = 0.01
#: Seconds of a step that are not load: its tape, the generator's start, reading the rows, coming to rest.
STEP_OVERHEAD_S = 2.5
#: Seconds to start, check and stop a system.
SYSTEM_OVERHEAD_S = 9.0

DEFAULT_OBJECTIVE_MS = 100.0
DEFAULT_START = 20.0
DEFAULT_HIGHEST = 1000.0


@dataclass(frozen=True, slots=True)
class SweepProfile:
    """How long a sweep looks at each rate.

    Attributes:
        name: What the user calls it.
        warmup_s: Seconds of load before the first step on a system; not counted.
        shortest_s: A step takes at least so long,
        longest_s: and at most so long; in between, as long as `LEAST_JOURNEYS` take.
        confirm_s: A confirmation takes at least so long, and up to four times as long for `LEAST_JOURNEYS`.
        precision: Where the search ends (`capacity_search.Plan`).
        most_steps: Of a search.
        most_confirmations: Of a search.
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
        setup: What every system is made of.
        profile: How long.
        objective_ms: p99 must stay under it, ms.
        start: The first rate, journeys a second.
        highest: No rate above it is tried.
    """

    setup: Setup
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


def profile_named(name: str) -> SweepProfile:
    """Returns the profile of this name.

    Raises:
        UsageError: There is none.
    """
    if name not in PROFILES:
        raise UsageError(f"profile={name} is not known: choose one of {', '.join(PROFILES)}")
    return PROFILES[name]


def step_s(rate: float, profile: SweepProfile, phase: Phase) -> float:
    """Seconds of a step at a rate: as long as p99 needs, within the profile's bounds."""
    needed = LEAST_JOURNEYS / rate
    if phase == "confirm":
        return float(ceil(min(max(needed, profile.confirm_s), 4 * profile.confirm_s)))
    return float(ceil(min(max(needed, profile.shortest_s), profile.longest_s)))


def judged(step: Step, objective_ms: float) -> Step:
    """Adds the verdict to a step.

    A step of the search holds if p99 itself is under the objective, one that confirms if the upper end of its 95 %
    interval is; both only with failures under 0.1 % and every journey sent.
    """
    confirms = step["phase"] == "confirm"
    reasons = []
    p99 = step["p99_high_ms"] if confirms else step["p99_ms"]
    if p99 is None:
        reasons.append(f"{step['journeys_sent']} journeys are too few for p99")
    elif p99 >= objective_ms:
        what = "upper end of p99" if confirms else "p99"
        reasons.append(f"{what} {p99:.0f} ms, not under {objective_ms:g}")
    failures = step["failure_share"]
    if failures is None or failures >= FAILURES_BELOW:
        reasons.append("nothing was sent" if failures is None else f"{failures:.2%} failed, not under 0.1 %")
    unsent = step["journeys_planned"] - step["journeys_sent"]
    if unsent:
        reasons.append(f"{unsent} journeys were not sent")
    judged_step = step.copy()
    judged_step["holds"] = not reasons
    judged_step["reasons"] = reasons
    return judged_step


def seen(step: Step, objective_ms: float) -> Seen:
    """What a judged step says to the search."""
    assert step["rate"] is not None
    p99, failures = step["p99_ms"], step["failure_share"]
    clear = (p99 is not None and p99 >= CLEARLY * objective_ms) or (
        failures is not None and failures >= CLEAR_FAILURE_SHARE
    )
    return Seen(step["rate"], bool(step["holds"]), clear, bool(step["generator_limits"]))


def sweep(options: Sweep, recorder: Recorder, bench: Bench) -> None:
    """Sweeps every topology; what is finished is on disk at any time.

    A topology that cannot go on (a component died, an answer was wrong) is noted with the reason, and the next one
    begins.

    Args:
        options: The user's choices.
        recorder: Gets every step and result.
        bench: Starts systems and runs steps.
    """
    left = _TimeLeft(options)
    for topology in options.setup.topologies:
        with bench.say.within(topology.name):
            left.begin()
            search = _TopologySweep(options, recorder, bench, topology, left)
            try:
                result = search.run()
            except MeshError as error:
                result = search.result(None, stopped=str(error).splitlines()[0])
                bench.say(f"stopped: {error}")
            recorder.result(topology.name, result)


class _TopologySweep:
    def __init__(self, options: Sweep, recorder: Recorder, bench: Bench, topology: Topology, left: _TimeLeft) -> None:
        self._options = options
        self._recorder = recorder
        self._bench = bench
        self._topology = topology
        self._left = left
        self._steps = 0
        self._broken: list[str] = []

    def run(self) -> TopologyResult:
        plan = self._options.plan
        name = self._topology.name
        with self._bench.started(
            self._topology, name, warm_rate=plan.start, warm_s=self._options.profile.warmup_s
        ) as system:
            bracket = climb(lambda rate: self._step(system, name, rate, "search"), plan)
            self._audit(system, name)
        found = confirm(self._confirmation(), bracket, plan)
        return self.result(found)

    def result(self, found: Found | None, stopped: str | None = None) -> TopologyResult:
        return TopologyResult(
            rate=None if found is None else found.rate,
            failed=None if found is None else found.failed,
            limit="unknown" if found is None else found.limit,
            tried=[] if found is None else list(found.tried),
            invariants_broken=self._broken,
            stopped=stopped,
        )

    def _confirmation(self) -> Callable[[float], Seen]:
        attempts = 0

        def attempt(rate: float) -> Seen:
            nonlocal attempts
            attempts += 1
            name = f"{self._topology.name}-confirm-{attempts}"
            self._bench.say(f"confirming {rate:g}/s on a system started afresh")
            warm_s = self._options.profile.warmup_s
            with self._bench.started(self._topology, name, warm_rate=rate, warm_s=warm_s) as system:
                found = self._step(system, name, rate, "confirm")
                self._audit(system, name)
            return found

        return attempt

    def _step(self, system: System, name: str, rate: float, phase: Phase) -> Seen:
        self._steps += 1
        options, number = self._options, self._steps
        duration_s = step_s(rate, options.profile, phase)
        label = f"{number:02d}-{phase}-{rate:g}"
        tape = self._bench.tape(self._topology.name, label, number=number, rate=rate, duration_s=duration_s)
        load = Load(phase, number, tape, duration_s, rate, None, system.switches.connections)
        step = judged(self._bench.step(system, name, label, load), options.objective_ms)
        self._recorder.step(step)
        self._bench.say(f"{told(step)}; {self._left.told()}")
        return seen(step, options.objective_ms)

    def _audit(self, system: System, name: str) -> None:
        self._broken += [promise for promise in self._bench.audit(system, name) if promise not in self._broken]


class _TimeLeft:
    """Estimates how long the rest of a sweep takes."""

    def __init__(self, options: Sweep) -> None:
        self._topologies = len(options.setup.topologies)
        self._began = self._topology_began = time.monotonic()
        self._finished = -1
        self._guess_s = expected_s(replace(options, setup=replace(options.setup, topologies=())))

    def begin(self) -> None:
        """Another topology begins."""
        self._finished += 1
        self._topology_began = time.monotonic()
        if self._finished:
            self._guess_s = (self._topology_began - self._began) / self._finished

    def told(self) -> str:
        """In words."""
        this = max(0.0, self._guess_s - (time.monotonic() - self._topology_began))
        left_s = this + (self._topologies - self._finished - 1) * self._guess_s
        return f"{minutes(left_s)} left" if left_s else "nearly done"


def expected_s(options: Sweep) -> float:
    """Seconds that a sweep should take; of one topology if there is none in `options`."""
    profile = options.profile
    climbing = min(profile.most_steps, 9)
    search = climbing * (profile.shortest_s + STEP_OVERHEAD_S) + SYSTEM_OVERHEAD_S + profile.warmup_s
    confirmation = profile.confirm_s + STEP_OVERHEAD_S + SYSTEM_OVERHEAD_S + profile.warmup_s
    return max(1, len(options.setup.topologies)) * (search + 1.5 * confirmation)


def told(step: Step) -> str:
    """A step in one line."""
    p99 = "none" if step["p99_ms"] is None else f"{step['p99_ms']:.0f} ms"
    verdict = {True: "holds", False: "does not hold", None: "done"}[step["holds"]]
    why = f" ({'; '.join(step['reasons'])})" if step["reasons"] else ""
    limited = ", GENERATOR AT ITS LIMIT" if step["generator_limits"] else ""
    return f"{step['phase']} {step['rate']:g}/s: p99 {p99}, {verdict}{why}{limited}"


def announced(options: Sweep, say: Progress) -> None:
    """Says what is going to happen, and how long it should take."""
    names = [topology.name for topology in options.setup.topologies]
    say(
        f"sweep of {', '.join(names)}: p99 under {options.objective_ms:g} ms, from {options.start:g} up to "
        f"{options.highest:g} journeys a second; {minutes(expected_s(options))}"
    )
