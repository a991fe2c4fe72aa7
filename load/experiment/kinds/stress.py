"""`make stress`: a topology under more and more users, in a closed loop: what still works, what fails, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from experiment.arguments import duration_s, profile_of
from experiment.capacity.rig import Rig, TimeLeft
from experiment.capacity.search import NO_RESULT, SearchResult
from experiment.capacity.step import StepPlan
from experiment.commands import in_steps, options
from experiment.errors import UsageError
from experiment.plan.closed_loop import LONGEST_THINK, MOST_VUS, ClosedLoop
from experiment.progress import minutes
from hops.kinds.capacity.document import Step, generator_limits
from mesh.description.options import Given, Json, takes_settings
from mesh.description.topology import Topology

DEFAULT_USERS = "100,300,1000,3000,10000"
MOST_STEPS = 20
WARM_RATE = 20.0
STEP_OVERHEAD_S = 12.0
SYSTEM_OVERHEAD_S = 10.0
"""Seconds of a step and of a system that are not load."""
USERS_PER_CONNECTION = 100
"""The edge lets an HTTP/2 connection carry 1,024 requests at a time, and a journey sends up to ten at a time."""
MOST_HTTP1_CONNECTIONS = 1024
"""The most connections that the generator opens."""
LEAST_CONNECTIONS = 4
HIGHEST_TAPE_RATE = 5000.0
"""More journeys a second than two cores can even refuse; it keeps tapes small."""


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
        profile: How long each number of users is kept up.
        users: Virtual users of each step, ascending.
        think_s: Seconds between an answer and the same user's next journey.
        connections: Connections of all clients together; 0 for as many as the users need.
    """

    profile: StressProfile
    users: tuple[int, ...]
    think_s: float
    connections: int = 0

    @property
    def expected_s(self) -> float:
        """Seconds that one topology should take."""
        profile = self.profile
        return SYSTEM_OVERHEAD_S + profile.warmup_s + len(self.users) * (profile.step_s + STEP_OVERHEAD_S)

    def announcement(self, topologies: Sequence[Topology]) -> str:
        """What a stress test of these topologies will do, and how long it will take."""
        names = ", ".join(topology.name for topology in topologies)
        users = ", ".join(str(count) for count in self.users)
        return (
            f"Stress test of {names}: {users} users, think time {self.think_s:g} s; "
            f"{minutes(len(topologies) * self.expected_s)}."
        )


@takes_settings("stress")
def command(
    *,
    topologies: str,
    users: str,
    think: str,
    profile: str,
    seed: str,
    workload: str,
    switches: Given,
    connections: str | None,
    strict: str | None,
    as_json: Json = False,
) -> None:
    """The command `stress`; `commands.toml` has its help."""
    with options.reported_errors():
        setup = in_steps.setup_of("stress", topologies, seed, workload, **switches, connections=connections)
        chosen = Stress(
            profile=profile_of(PROFILES, profile),
            users=parse_users(users),
            think_s=duration_s("think", think, "0s", LONGEST_THINK),
            connections=setup.switches.connections if connections else 0,
        )
        in_steps.run(
            "stress",
            setup,
            asdict(chosen),
            lambda rig: stress(chosen, rig),
            announcement=chosen.announcement(setup.topologies),
            strict=strict,
            as_json=as_json,
        )


def parse_users(given: str) -> tuple[int, ...]:
    """Reads the numbers of users, with commas between them.

    Raises:
        UsageError: One is no integer from 1 to 10,000, they do not ascend, or they are too many.
    """
    parts = [part.strip() for part in given.split(",")]
    for part in parts:
        if not (part.isascii() and part.isdigit() and 1 <= int(part) <= MOST_VUS):
            raise UsageError(f"users={given} is not valid: give integers from 1 to {MOST_VUS}, as in users=100,1000")
    users = tuple(int(part) for part in parts)
    if list(users) != sorted(set(users)):
        raise UsageError(f"users={given} is not valid: each number must be above the one before it")
    if len(users) > MOST_STEPS:
        raise UsageError(f"users={given} has {len(users)} steps: give at most {MOST_STEPS}")
    return users


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
        return min(max(users, LEAST_CONNECTIONS), MOST_HTTP1_CONNECTIONS)
    return max(LEAST_CONNECTIONS, -(-users // USERS_PER_CONNECTION))


def tape_rate(closed: ClosedLoop) -> float:
    """Journeys that the tape of a stress test needs for each second: more than the users can take.

    In an overload journeys end quickly, as failures: then they are no slower than the time to think.
    """
    return min(HIGHEST_TAPE_RATE, closed.most_asked + 5.0)


def stress(options: Stress, rig: Rig) -> None:
    """Loads every topology step by step, all steps of one on the same system."""
    profile, switches = options.profile, rig.setup.switches

    def measure(topology: Topology, left: TimeLeft) -> SearchResult:
        with rig.started(topology, topology.name, warm_rate=WARM_RATE, warm_s=profile.warmup_s) as system:
            for users in options.users:
                closed = ClosedLoop(users, options.think_s)
                connections = options.connections or connections_for(users, switches.http)
                step = rig.step(
                    system, topology.name, StepPlan("stress", profile.step_s, tape_rate(closed), closed, connections)
                )
                rig.recorder.step(step)
                rig.say(f"{told(step)}; {left()}")
        return NO_RESULT

    rig.each_topology(options.expected_s, measure)


def told(step: Step) -> str:
    """A step in one line."""
    p99 = step["latency_ms"]["p99"]
    latency = "none ok" if p99 is None else f"p99 {p99:.0f} ms"
    failures = ", ".join(f"{count} {name}" for name, count in step["errors"].items() if count) or "none"
    limited = ", GENERATOR AT ITS LIMIT" if generator_limits(step) else ""
    return f"{step['users']} users: {step['throughput_per_s']:.0f}/s ok, {latency}, failed: {failures}{limited}"
