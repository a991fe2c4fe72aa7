"""A figure with its interval, and whether two figures agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict


class Estimate(TypedDict):
    """A figure with its 95 % interval over blocks; an end is None if it is unknown."""

    value: float
    ci95: list[float | None]


Agreement = Literal["agree", "differ", "unknown"]
"""Whether two measurements of a step agree: whether the interval of their difference includes 0."""


def agreement(ends: Sequence[float | None]) -> Agreement:
    """Decides whether two figures agree, from the interval of their difference."""
    low, high = ends
    if low is None or high is None:
        return "unknown"
    return "agree" if low <= 0 <= high else "differ"
