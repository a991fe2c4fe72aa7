"""`make capacity`: the highest rate that topologies sustain, and how they behave above it.

The three loads are rates that rise until a topology fails (`sweep`), users in a closed loop (`stress`), and peaks at
multiples of the rate that a topology sustains (`overload`).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import count
from math import ceil
from pathlib import Path
from typing import Any, cast

from experiment.arguments import ascending, choice, duration_s, number_in, profile_of, whole_number
from experiment.blocks import TRIAL_OVERHEAD_S, Makers, Measure
from experiment.commands import in_blocks
from experiment.errors import UsageError
from experiment.plan.arms_in_blocks import Arm, Plan, arms_of, read_switches
from experiment.plan.closed_loop import MAX_THINK, MAX_VUS, ClosedLoop
from experiment.plan.networks import refuse_networks
from experiment.plan.own_load import OwnLoad, Sending
from experiment.plan.profiles import DEFAULT_RATE, Profile
from experiment.progress import Progress, minutes
from experiment.results.folder import read_json, write_json
from hops.conclusions.wording import join_names
from hops.errors import HopsError
from hops.kinds.capacity.course import take_course
from hops.kinds.capacity.document import KIND, STAIRS, Asked, Load, Phase, SearchBounds, Step
from hops.kinds.capacity.search import Bounds
from hops.kinds.capacity.steps import step_of
from mesh.description.options import Given
from mesh.errors import AlreadyRunningError, InputError, MeshError, NotInstalledError

MIN_JOURNEYS = 420
"""With fewer journeys, the upper end of p99's 95 % interval is unknown: 0.99^n must be below 2.5 %, so n must exceed
367. The margin allows for failures, and for tapes that have fewer journeys than their rate implies."""
DEFAULT_OBJECTIVE, MAX_OBJECTIVE = "100ms", "5s"
"""Default and maximum of the latency objective. The generator abandons journeys that take longer than the maximum."""
DEFAULT_MAX, MAX_RATE, RATE_UNIT = 1_000.0, 10_000.0, "journeys per second"
DEFAULT_USERS, DEFAULT_THINK, MAX_STEPS = "100,300,1000,3000,10000", "10s", 20
DEFAULT_FACTORS, MAX_FACTOR = "1,2,5,10", 100
USERS_PER_CONNECTION = 100
"""The edge allows 1,024 concurrent requests on an HTTP/2 connection, and a journey sends up to ten at a time."""
MIN_CONNECTIONS, MAX_HTTP1_CONNECTIONS = 4, 1024
PARITY_SAMPLES = 3
STOPPED = "stopped.json"
"""File in a run's folder: why topologies ended early, by the step that could not be measured."""
MAX_SEARCHES = 20
"""Maximum number of blocks, each with a search per topology."""
OF_LOAD: Mapping[Load, tuple[str, ...]] = {
    "sweep": ("objective", "start", "max", "connections"),
    "stress": ("users", "think", "connections"),
    "overload": ("objective", "factors", "capacity"),
}
"""The settings that only some loads have."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """The lengths of steps, and the limits of a search.

    Attributes:
        warmup_s: Seconds of load before each step; not counted.
        min_step_s: Minimum length of a step of a search, in seconds; a step lasts longer to send `MIN_JOURNEYS`.
        confirm_s: Shortest confirmation, in seconds; it may be up to four times as long to reach `MIN_JOURNEYS`.
        part_s: Seconds that each part of the load with a peak lasts.
        precision: Precision at which a search ends (`hops.kinds.capacity.search.Bounds`).
    """

    warmup_s: int
    min_step_s: float
    max_step_s: float
    confirm_s: float
    users_s: float
    part_s: float
    precision: float
    max_steps: int
    max_confirmations: int


PROFILES = {
    "smoke": Lengths(2, 3, 5, 5, 4, 2, 1.5, max_steps=4, max_confirmations=2),
    "quick": Lengths(5, 10, 22, 30, 20, 10, 1.05, max_steps=12, max_confirmations=3),
    "full": Lengths(10, 30, 60, 120, 60, 30, 1.03, max_steps=16, max_confirmations=5),
}


def choose(plan: Plan, measure: Measure, say: Progress, folder: Path) -> Mapping[str, Any]:
    """Runs every topology through its steps, one after another.

    If a topology cannot continue (a component died, an answer was wrong, traces could not be read), its steps end early
    and the next topology begins. Under overload, such an end is a finding, so a resumed run skips that step.
    A problem that affects every topology ends the run.

    Raises:
        MeshError, HopsError: No topology finished a step, or a problem affects every topology.
    """
    asked = cast("Asked", plan.about[KIND])
    stopped: dict[str, str] = {}
    noted = folder / STOPPED
    failed = read_json(noted) if noted.is_file() else {}
    measured: list[Step] = []
    for first, numbers in in_blocks_of(plan, asked.get("blocks", 1)):
        name = first.topology.name
        if name in stopped:
            continue

        def step(
            phase: Phase, amount: float, held: float = 0.0, first: Arm = first, numbers: Iterator[int] = numbers
        ) -> Step:
            load = load_of(asked, PROFILES[plan.profile.name], first.switches.http, phase, amount, held)
            arm = replace(first, label=f"{first.label}-{next(numbers)}-{phase}-{amount:g}", load=load)
            if arm.label in failed:
                raise MeshError(failed[arm.label])
            try:
                results = measure(arm)
            except (MeshError, HopsError) as error:
                failed[arm.label] = str(error)
                raise
            made = step_of(first.label, phase, *results, asdict(load), asked["objective_ms"] or 0.0)
            measured.append(made)
            say(f"{arm.label}: {_in_words(made)}", keep=True)
            return made

        try:
            take_course(asked, name, step)
        except (InputError, NotInstalledError, AlreadyRunningError):
            raise
        except (MeshError, HopsError) as error:
            if not measured and len(stopped) == len(plan.arms) - 1:
                noted.unlink(missing_ok=True)
                raise
            stopped[name] = str(error).splitlines()[0]
            write_json(noted, failed)
            say(f"{name} ends early: {error}", keep=True)
    return {"stopped": stopped}


def in_blocks_of(plan: Plan, blocks: int) -> Iterator[tuple[Arm, Iterator[int]]]:
    """Yields the arms to run, each with an iterator that numbers its steps.

    If there are several blocks, the arms of each block are in random order.
    """
    drawn, numbers = random.Random(plan.seed), {arm.label: count(1) for arm in plan.arms}
    for _ in range(blocks):
        arms = drawn.sample(plan.arms, len(plan.arms)) if blocks > 1 else plan.arms
        yield from ((arm, numbers[arm.label]) for arm in arms)


def announce(plan: Plan) -> Iterator[str]:
    """Says what will run, and how long it takes."""
    asked, lengths = cast("Asked", plan.about[KIND]), PROFILES[plan.profile.name]
    names = ", ".join(arm.topology.name for arm in plan.arms)
    trial_s = TRIAL_OVERHEAD_S + lengths.warmup_s
    search_s = min(lengths.max_steps, 9) * (lengths.min_step_s + trial_s)
    if asked["load"] == "sweep":
        what = f"p99 below {asked['objective_ms']:g} ms, from {plan.profile.rate:g} journeys a second up"
        blocks = asked.get("blocks", 1)
        what += f", in {blocks} blocks in random order" if blocks > 1 else ""
        each_s = blocks * (search_s + 1.5 * (lengths.confirm_s + trial_s))
    elif asked["load"] == "stress":
        what = f"{join_names([str(users) for users in asked['users']])} users, mean think time {asked['think_s']:g} s"
        each_s = len(asked["users"]) * (lengths.users_s + trial_s)
    else:
        what = f"{join_names([str(factor) for factor in asked['factors']])} times the rate that each sustains"
        searched = sum(arm.topology.name not in asked["given"] for arm in plan.arms) / len(plan.arms)
        each_s = searched * search_s + len(asked["factors"]) * (len(STAIRS) * lengths.part_s + trial_s)
    yield (
        f"{asked['load'].capitalize()} of {names}: {what}; {minutes(len(plan.arms) * each_s)}. Leave the machine idle "
        "until then; Ctrl-C keeps finished trials."
    )


@in_blocks.experiment(KIND, makers=Makers(choose=choose), announce=announce)
def command(
    *,
    load: str,
    topologies: str,
    connections: str | None,
    common: in_blocks.Common,
    switches: Given,
    **chosen: str | None,
) -> Plan:
    kind = cast("Load", choice("load", load, OF_LOAD))
    given = {**chosen, "connections": connections}
    for name, value in given.items():
        loads = [of for of, names in OF_LOAD.items() if name in names]
        if value is not None and kind not in loads:
            raise UsageError(f"{name}={value} is for load={' or load='.join(loads)}; the load is {kind}")
    blocks = whole_number("blocks", common.blocks, 1, MAX_SEARCHES)
    if blocks > 1 and kind != "sweep":
        raise UsageError(f"blocks={blocks} is for load=sweep; the load is {kind}")
    refuse_networks(common.file, KIND)
    if connections:
        switches = {**switches, "connections": connections}
    if kind == "overload":
        switches = {**switches, "admission": switches.get("admission") or "on"}
    measured = common.read_measured(topologies)
    parsed = read_switches(measured, switches)
    lengths = profile_of(PROFILES, common.profile)
    first, last = rates(given["start"], given["max"])
    factors = ascending("factors", given["factors"] or DEFAULT_FACTORS, 1, MAX_FACTOR)
    asked = Asked(
        load=kind,
        objective_ms=None
        if kind == "stress"
        else 1e3 * duration_s("objective", given["objective"] or DEFAULT_OBJECTIVE, "1ms", MAX_OBJECTIVE),
        search=None if kind == "stress" else bounds_of(lengths, first, last),
        users=list(parse_users(given["users"] or DEFAULT_USERS)) if kind == "stress" else [],
        think_s=duration_s("think", given["think"] or DEFAULT_THINK, "0s", MAX_THINK),
        factors=list(factors) if kind == "overload" else [],
        connections=parsed.connections if kind == "stress" and given["connections"] else 0,
        given=dict(parse_capacity(given["capacity"] or "", [topology.name for topology in measured])),
        blocks=blocks,
    )
    profile = Profile(common.profile, lengths.warmup_s, ceil(lengths.min_step_s), first, PARITY_SAMPLES)
    plan = replace(common, profile="smoke", blocks="1").plan(KIND, arms_of(measured, parsed))
    name = plan.name.replace(KIND, kind, 1)
    return replace(plan, name=name, profile=profile, about={**plan.about, KIND: asked}, chosen=True)


def bounds_of(lengths: Lengths, start: float, highest: float) -> SearchBounds:
    """Returns the bounds of each topology's search."""
    lowest = min(start, ceil(MIN_JOURNEYS / (4 * lengths.confirm_s)))
    made = Bounds(start, highest, lowest, lengths.precision, lengths.max_steps, lengths.max_confirmations)
    return cast("SearchBounds", asdict(made))


def rates(start: str | None, highest: str | None) -> tuple[float, float]:
    """Reads a sweep's first and highest rate; raises UsageError unless both are from 1 to 10,000 and ascend."""
    last = number_in("max", highest, 1, MAX_RATE, RATE_UNIT) if highest else DEFAULT_MAX
    first = number_in("start", start, 1, MAX_RATE, RATE_UNIT) if start else min(DEFAULT_RATE, last)
    if first > last:
        raise UsageError(f"start={first:g} is above max={last:g}: give a start of at most max")
    return first, last


def parse_users(given: str) -> tuple[int, ...]:
    """Reads the comma-separated numbers of users; raises UsageError unless up to 20 numbers to 10,000 ascend."""
    users = ascending("users", given, 1, MAX_VUS)
    if len(users) > MAX_STEPS:
        raise UsageError(f"users={given} has {len(users)} steps: give at most {MAX_STEPS}")
    return users


def parse_capacity(given: str, measured: list[str]) -> Mapping[str, float]:
    """Reads the rates that topologies sustain, such as `rest:90,grpc:120`; raises UsageError for any other text."""
    capacities = {}
    for part in filter(None, (part.strip() for part in given.split(","))):
        name, _, rate = part.partition(":")
        if name not in measured:
            raise UsageError(f"capacity={given}: {name} is not measured; measured topologies: {', '.join(measured)}")
        capacities[name] = number_in("capacity", rate.strip(), 1, MAX_RATE, RATE_UNIT)
    return capacities


def connections_for(users: int, http: int) -> int:
    """Returns so many client connections for a closed loop that they do not limit it: over HTTP/1.1, one per user."""
    if http == 1:
        return min(max(users, MIN_CONNECTIONS), MAX_HTTP1_CONNECTIONS)
    return max(MIN_CONNECTIONS, -(-users // USERS_PER_CONNECTION))


def step_s(rate: float, lengths: Lengths, phase: Phase) -> float:
    """Returns the length of a step at a rate, in seconds: long enough to measure p99, within the profile's bounds."""
    needed = MIN_JOURNEYS / rate
    if phase == "confirm":
        return float(ceil(min(max(needed, lengths.confirm_s), 4 * lengths.confirm_s)))
    return float(ceil(min(max(needed, lengths.min_step_s), lengths.max_step_s)))


def load_of(asked: Asked, lengths: Lengths, http: int, phase: Phase, amount: float, held: float) -> OwnLoad:
    """Returns the load of a step.

    Args:
        amount: Journeys per second, users, or the height of the peak.
        held: Journeys per second that the topology sustains; a peak is a multiple of this rate.
    """
    warm_rate = min(DEFAULT_RATE, asked["search"]["start"] if asked["search"] else DEFAULT_RATE)
    sending = Sending(lengths.warmup_s, 0.0, amount, overload=phase != "confirm", warm_rate=warm_rate)
    name = f"{phase}-{amount:g}"
    if phase == "users":
        closed = ClosedLoop(int(amount), asked["think_s"])
        connections = asked["connections"] or connections_for(closed.vus, http)
        sending = replace(sending, rate=closed.tape_rate, closed=closed, connections=connections)
        return OwnLoad(name, (), replace(sending, duration_s=lengths.users_s))
    if phase == "peak":
        steps = tuple(share or amount for share in STAIRS)
        sending = replace(sending, duration_s=len(STAIRS) * lengths.part_s, rate=held, steps=steps)
        return OwnLoad(f"{name}-of-{held:g}", (), sending)
    sending = replace(sending, duration_s=step_s(amount, lengths, phase))
    return OwnLoad(name, (), sending, draw=int(phase == "confirm"))


def _in_words(step: Step) -> str:
    """Describes a step in one line."""
    p99 = step["latency_ms"]["p99"]
    parts = [f"{step['throughput_per_s']:.0f}/s ok", "none ok" if p99 is None else f"p99 {p99:.0f} ms"]
    if step["holds"] is not None:
        parts.append("holds" if step["holds"] else f"does not hold ({'; '.join(step['reasons'])})")
    if failed := sum(step["errors"].values()):
        parts.append(f"{failed} failed")
    if step["phase"] == "peak":
        over = step["recovery_s"]
        parts.append("no recovery when the load ended" if over is None else f"recovery after {over:g} s")
    return ", ".join(parts) + (", GENERATOR AT ITS LIMIT" if step["limits"] else "")
