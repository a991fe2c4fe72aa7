"""The closed loop: virtual users instead of arrival times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiment.arguments import duration_s, whole_number
from experiment.errors import UsageError
from hops.run.documents.summary import ClosedLoop as Described

MAX_VUS = 10_000
MAX_THINK = "10m"
FASTEST_JOURNEY_S = 0.0005
"""A journey takes longer than this in every topology, so a tape made for this duration outlasts the loop."""
MAX_TAPE_RATE = 10_000.0
"""Two cores can neither answer nor refuse this many journeys per second of any kind, so a higher rate would only make
tapes larger."""
MARGIN = 1.25
"""Arrivals are random, so a tape may have somewhat fewer journeys than its rate implies."""
SPARE_RATE = 5.0
"""Additional journeys per second on a tape: few expected arrivals vary by more than `MARGIN` allows."""


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """Virtual users who take the tape's journeys in order, and think for `think_s` on average after each answer."""

    vus: int
    think_s: float

    @property
    def tape_rate(self) -> float:
        """Journeys per second on a tape that does not end before the loop.

        Under overload, journeys fail quickly, so only the think time slows the users.
        """
        return min(MAX_TAPE_RATE, MARGIN * self.vus / (self.think_s + FASTEST_JOURNEY_S) + SPARE_RATE)

    def __str__(self) -> str:
        users = "1 virtual user" if self.vus == 1 else f"{self.vus} virtual users"
        return f"closed loop, {users}, mean think time {self.think_s:g} s"


def describe_loops(loops: Sequence[ClosedLoop]) -> Described | None:
    """Describes the closed loops of a run's arms in its manifest; None if all arms run in an open loop."""
    if not loops:
        return None
    fewest, most = min(one.vus for one in loops), max(one.vus for one in loops)
    shortest, longest = min(one.think_s for one in loops), max(one.think_s for one in loops)
    described = Described(vus=most, think_s=longest)
    if fewest < most:
        described["fewest"] = fewest
    if shortest < longest:
        described["shortest_think_s"] = shortest
    return described


def parse_closed_loop(*, vus: str | None, think: str | None, rate: str | None = None) -> ClosedLoop | None:
    """Reads the user's settings for a closed loop; returns None, an open loop, without `vus`.

    Raises:
        UsageError: A value is invalid, or settings of an open and of a closed loop are combined.
    """
    if not vus:
        if think:
            raise UsageError(f"think={think} needs vus=N (a closed loop)")
        return None
    users = whole_number("vus", vus, 1, MAX_VUS)
    if rate:
        raise UsageError(f"rate={rate} is for an open loop and vus={vus} for a closed one: give only one of them")
    return ClosedLoop(users, duration_s("think", think, "0s", MAX_THINK) if think else 0.0)
