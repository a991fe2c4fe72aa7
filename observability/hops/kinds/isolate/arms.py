"""The arms of an isolation experiment: a tape as it is, without one kind of journey, and with that kind separated."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

KIND: Final = "isolate"
AS_IS: Final = "as-is"
WITHOUT, APART = "without", "apart"


def label_of(way: str, disturber: str) -> str:
    """Returns the label of the arm in which a kind of journey cannot disturb the others: `without-bulk_lines`."""
    return f"{way}-{disturber}"


def disturber_of(arms: Iterable[str]) -> str:
    """Gives the kind of journey that the arms of an isolation experiment remove or separate."""
    return next(arm for arm in arms if arm != AS_IS).partition("-")[2]


def in_words(arm: str) -> str:
    """Describes an arm in words for use within a sentence: `without bulk_lines`, `bulk_lines apart`."""
    way, _, disturber = arm.partition("-")
    return f"{disturber} apart" if way == APART else f"{way} {disturber}"
