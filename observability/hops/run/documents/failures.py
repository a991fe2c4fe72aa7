"""In `summary.json`: why journeys failed, and which of them were answered differently."""

from typing import TypedDict


class FailureReason(TypedDict):
    """Why journeys of one kind failed at one topology; where their messages differ in a number or a text, the first."""

    topology: str
    journey: str
    outcome: str
    reason: str
    count: int


class Differing(TypedDict):
    """How many journeys of a kind on the tape were not answered the same by all trials.

    `steps` are the places, counted from 1, of the steps that were answered differently where the journey was sent
    alone; none if that is not known.
    """

    journey: str
    count: int
    steps: list[int]
