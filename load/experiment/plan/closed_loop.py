"""The closed loop: virtual users instead of arrival times, as a mode of its own."""

from __future__ import annotations

from dataclasses import dataclass

from experiment.arguments import duration_s, whole_number
from experiment.errors import UsageError

MAX_VUS = 10_000
MAX_THINK = "10m"
FASTEST_JOURNEY_S = 0.002
"""A journey takes longer than this in every topology, so that a tape for so quick a shop outlasts the loop."""
MAX_TAPE_RATE = 2500.0
"""More journeys a second than two cores answer of any kind; it keeps tapes small."""
MARGIN = 1.25
"""Arrivals are random, so a tape may have somewhat fewer journeys than its rate says."""


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """Virtual users who take the journeys of the tape in its order, each its next one once it has its answer.

    Attributes:
        vus: Number of virtual users.
        think_s: Seconds between an answer and the same user's next journey.
    """

    vus: int
    think_s: float

    @property
    def most_asked(self) -> float:
        """Journeys a second that the users ask for if every answer comes at once, and some more."""
        return MARGIN * self.vus / (self.think_s + FASTEST_JOURNEY_S)

    @property
    def tape_rate(self) -> float:
        """Journeys that a tape needs for each second of the loop, so that it does not end before the loop does."""
        return min(MAX_TAPE_RATE, self.most_asked)

    def __str__(self) -> str:
        users = "1 virtual user" if self.vus == 1 else f"{self.vus} virtual users"
        return f"closed loop, {users}, think time {self.think_s:g} s"


def parse_closed_loop(*, vus: str | None, think: str | None, rate: str | None = None) -> ClosedLoop | None:
    """Checks what a user gave for a closed loop.

    Args:
        vus: Virtual users; None or empty for an open loop.
        think: A duration such as `100ms`; None or empty for none.
        rate: Rate of an open loop, if the user gave one.

    Returns:
        The closed loop, None for an open one.

    Raises:
        UsageError: A value is none that it can have, or goes with the other loop.
    """
    if not vus:
        if think:
            raise UsageError(f"think={think} needs vus=N (a closed loop)")
        return None
    users = whole_number("vus", vus, 1, MAX_VUS)
    if rate:
        raise UsageError(f"rate={rate} is for an open loop and vus={vus} for a closed one: give only one of them")
    return ClosedLoop(users, duration_s("think", think, "0s", MAX_THINK) if think else 0.0)
