"""`make stress`: a topology under more and more users, in a closed loop: what still works, what fails, and how."""

from __future__ import annotations

from dataclasses import dataclass

from experiment.arguments import whole_number
from experiment.capacity.document import Recorder, TopologyResult
from experiment.capacity.rig import Bench, Setup
from experiment.capacity.step import Load, Step
from experiment.errors import UsageError
from experiment.plan.closed_loop import MOST_VUS, ClosedLoop
from experiment.progress import Progress, minutes
from mesh.errors import MeshError
from mesh.switches import MOST_CONNECTIONS
from mesh.system import System
from mesh.topology import Topology

DEFAULT_USERS = (100, 300, 1_000, 3_000, 10_000)
DEFAULT_THINK = "10s"
MOST_STEPS = 20
WARM_RATE = 20.0
#: Seconds of a step and of a system that are not load.
STEP_OVERHEAD_S = 12.0
SYSTEM_OVERHEAD_S = 10.0
#: The edge lets an HTTP/2 connection carry 1,024 requests at a time, and a journey sends up to ten at a time.
USERS_PER_CONNECTION = 100
#: What the generator opens at most.
MOST_HTTP1_CONNECTIONS = 1024
LEAST_CONNECTIONS = 4
#: A refused request is answered within this, at the least.
QUICKEST_FAILURE_S = 0.002
#: More journeys a second than two cores can even refuse; it keeps tapes small.
HIGHEST_TAPE_RATE = 5000.0


@dataclass(frozen=True, slots=True)
class StressProfile:
    """How long each number of users is kept up, and the warm-up before the first, in seconds."""

    name: str
    warmup_s: float
    step_s: float


PROFILES = {
    profile.name: profile
    for profile in (
        StressProfile("smoke", warmup_s=2, step_s=4),
        StressProfile("quick", warmup_s=5, step_s=20),
        StressProfile("full", warmup_s=10, step_s=60),
    )
}


@dataclass(frozen=True, slots=True)
class Stress:
    """What a user may choose for a stress test, checked.

    Attributes:
        setup: What every system is made of.
        profile: How long.
        users: Virtual users of each step, ascending.
        think_s: Seconds between an answer and the same user's next journey.
        connections: Of all clients together; 0 for as many as the users need.
    """

    setup: Setup
    profile: StressProfile
    users: tuple[int, ...]
    think_s: float
    connections: int = 0


def profile_named(name: str) -> StressProfile:
    """Returns the profile of this name.

    Raises:
        UsageError: There is none.
    """
    if name not in PROFILES:
        raise UsageError(f"profile={name} is not known: choose one of {', '.join(PROFILES)}")
    return PROFILES[name]


def parse_users(given: str) -> tuple[int, ...]:
    """Reads the numbers of users, with commas between them; empty for the default.

    Raises:
        UsageError: One is no whole number from 1 to 10,000, they do not ascend, or they are too many.
    """
    if not given:
        return DEFAULT_USERS
    parts = [part.strip() for part in given.split(",")]
    for part in parts:
        if not (part.isascii() and part.isdigit() and 1 <= int(part) <= MOST_VUS):
            raise UsageError(
                f"users={given} is not valid: give whole numbers from 1 to {MOST_VUS}, as in users=100,1000"
            )
    users = tuple(int(part) for part in parts)
    if list(users) != sorted(set(users)):
        raise UsageError(f"users={given} is not valid: each number must be above the one before it")
    if len(users) > MOST_STEPS:
        raise UsageError(f"users={given} has {len(users)} steps: give at most {MOST_STEPS}")
    return users


def parse_connections(given: str | None) -> int:
    """Reads the number of client connections; 0 if none is given.

    Raises:
        UsageError: It is no whole number from 1 to 256.
    """
    return whole_number("connections", given, 1, MOST_CONNECTIONS) if given else 0


def connections_for(users: int, http: int) -> int:
    """How many client connections a closed loop gets: as many as it takes that none is the limit.

    The edge lets an HTTP/2 connection carry 1,024 streams at a time, and a journey sends up to ten requests at a time;
    so 100 users to a connection. With HTTP/1.1 a connection carries one request at a time: one for each user, up to
    what the generator opens.

    Args:
        users: Virtual users.
        http: HTTP version from client to edge.
    """
    if http == 1:
        return min(max(users, 4), MOST_HTTP1_CONNECTIONS)
    return max(4, -(-users // USERS_PER_CONNECTION))


def tape_rate(closed: ClosedLoop) -> float:
    """Journeys that the tape of a stress test needs for each second: more than the users can take.

    In an overload journeys end quickly, as failures: then they are no slower than the time to think.
    """
    return min(HIGHEST_TAPE_RATE, 1.25 * closed.vus / (closed.think_s + QUICKEST_FAILURE_S) + 5.0)


def stress(options: Stress, recorder: Recorder, bench: Bench) -> None:
    """Loads every topology step by step, all steps of one on the same system; what is finished is on disk at any time.

    A topology that does not live through a step is noted with the reason, and the next one begins: that is a finding.

    Args:
        options: The user's choices.
        recorder: Gets every step and result.
        bench: Starts systems and runs steps.
    """
    topologies = options.setup.topologies
    for at, topology in enumerate(topologies):
        with bench.say.within(topology.name):
            broken: list[str] = []
            stopped = None
            try:
                with bench.started(
                    topology, topology.name, warm_rate=WARM_RATE, warm_s=options.profile.warmup_s
                ) as system:
                    for number, users in enumerate(options.users, start=1):
                        step = _step(options, bench, topology, system, number, users)
                        recorder.step(step)
                        left_s = expected_s(options, topologies=len(topologies) - at) - expected_s(
                            options, steps=number, topologies=1
                        )
                        bench.say(f"{told(step)}; {minutes(left_s)} left")
                    broken = bench.audit(system, topology.name)
            except MeshError as error:
                stopped = str(error).splitlines()[0]
                bench.say(f"stopped: {error}")
            recorder.result(
                topology.name,
                TopologyResult(
                    rate=None, failed=None, limit="unknown", tried=[], invariants_broken=broken, stopped=stopped
                ),
            )


def _step(options: Stress, bench: Bench, topology: Topology, system: System, number: int, users: int) -> Step:
    closed = ClosedLoop(users, options.think_s)
    name = f"{number:02d}-{users}-users"
    duration_s = options.profile.step_s
    tape = bench.tape(topology.name, name, number=number, rate=tape_rate(closed), duration_s=duration_s)
    connections = options.connections or connections_for(users, options.setup.switches.http)
    load = Load("stress", number, tape, duration_s, None, closed, connections)
    return bench.step(system, topology.name, name, load)


def expected_s(options: Stress, *, steps: int | None = None, topologies: int | None = None) -> float:
    """Seconds that so many steps on each of so many topologies should take; all of them unless told."""
    count = len(options.users) if steps is None else steps
    systems = len(options.setup.topologies) if topologies is None else topologies
    return systems * (SYSTEM_OVERHEAD_S + options.profile.warmup_s + count * (options.profile.step_s + STEP_OVERHEAD_S))


def told(step: Step) -> str:
    """A step in one line."""
    p99 = "none ok" if step["p99_ms"] is None else f"p99 {step['p99_ms']:.0f} ms"
    failed = ", ".join(f"{count} {name}" for name, count in step["errors"].items() if count) or "none"
    limited = ", GENERATOR AT ITS LIMIT" if step["generator_limits"] else ""
    return f"{step['users']} users: {step['throughput_per_s']:.0f}/s ok, {p99}, failed: {failed}{limited}"


def announced(options: Stress, say: Progress) -> None:
    """Says what is going to happen, and how long it should take."""
    names = ", ".join(topology.name for topology in options.setup.topologies)
    users = ", ".join(str(count) for count in options.users)
    say(f"stress of {names}: {users} users, think time {options.think_s:g} s; {minutes(expected_s(options))}")
