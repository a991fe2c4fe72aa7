"""Failed journeys, and journeys that were answered differently, in `summary.json`."""

from typing import TypedDict


class FailureReason(TypedDict):
    """Why journeys of one kind failed in one topology.

    `reason` is the first of the messages that differ only in numbers or quoted texts, and `count` their number.
    """

    topology: str
    journey: str
    outcome: str
    reason: str
    count: int


class Differing(TypedDict):
    """How many journeys of a kind on the tape got different answers in different trials.

    `steps` are the numbers, from 1, of the steps whose answers differed when the journey was sent alone; empty if
    unknown.
    """

    journey: str
    count: int
    steps: list[int]
