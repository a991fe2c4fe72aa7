"""Checks of a user's values: numbers, durations, seeds, profiles, topologies."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from experiment.errors import UsageError
from mesh.description.topology import Topology, load_topology
from mesh.paths import ROOT
from user_files.words import valid

Profile = TypeVar("Profile")
T = TypeVar("T")

WORKLOADS = ROOT / "load" / "workloads"
MAX_SEED = 2**53 - 1

_DURATION = re.compile(r"(?P<number>\d+(\.\d+)?)(?P<unit>ms|s|m)", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0}


def number(name: str, given: str | None) -> float | None:
    """Reads a number; returns None if the user gave nothing, and raises UsageError for any other text."""
    if given is None or given == "":
        return None
    try:
        return float(given)
    except ValueError as error:
        raise UsageError(f"{name}={given} is not a number") from error


def float_or_nan(text: str) -> float:
    """Reads a number; any other text gives NaN, which is in no range."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def number_in(name: str, given: str, lowest: float, highest: float, unit: str) -> float:
    """Reads a number; raises UsageError, which gives the range, for any other text."""
    value = float_or_nan(given)
    if not lowest <= value <= highest:
        raise UsageError(f"{name}={given} is not valid: give {unit} from {lowest:g} to {highest:g}")
    return value


def percentage(name: str, given: str, lowest: float, highest: float, example: str) -> float:
    """Reads a percentage such as `5%` as a share; raises UsageError unless it is in the range, in percent."""
    percent = float_or_nan(given.removesuffix("%"))
    if not given.endswith("%") or not lowest <= percent <= highest:
        raise UsageError(
            f"{name}={given} is not valid: give a percentage from {lowest:g}% to {highest:g}%, such as {example}"
        )
    return percent / 100


def whole_number(name: str, given: str, lowest: int, highest: int) -> int:
    """Reads an integer; raises UsageError, which gives the range, for any other value."""
    if not (given.isascii() and given.isdigit() and lowest <= int(given) <= highest):
        raise UsageError(f"{name}={given} is not valid: give an integer from {lowest} to {highest}")
    return int(given)


def ascending(name: str, given: str, lowest: int, highest: int) -> tuple[int, ...]:
    """Reads comma-separated integers; raises UsageError unless all are in the range and ascend."""
    numbers = tuple(whole_number(name, part.strip(), lowest, highest) for part in given.split(","))
    if list(numbers) != sorted(set(numbers)):
        raise UsageError(f"{name}={given} is not valid: each number must be above the one before it")
    return numbers


def read_items(name: str, given: str, read: Callable[[str], T]) -> list[T]:
    """Reads comma-separated items in the given order, each by `read`; raises UsageError if one is given twice."""
    texts = [item.strip() for item in given.split(",")]
    items = [read(text) for text in texts]
    if twice := [text for text, item in dict(zip(texts, items, strict=True)).items() if items.count(item) > 1]:
        raise UsageError(f"{name}={given}: {twice[0]} is given twice; give each once")
    return items


def choice(name: str, given: str, known: Iterable[str]) -> str:
    """Returns a value that must be known; raises UsageError, which lists the known values, for any other."""
    known = list(known)
    if given not in known:
        raise UsageError(f"{name}={given} is unknown; {valid(given, known)}")
    return given


def choices(name: str, given: str, known: Iterable[str]) -> list[str]:
    """Reads comma-separated known values; raises UsageError if one is unknown or is given twice."""
    known = list(known)

    def one(item: str) -> str:
        if item not in known:
            raise UsageError(f"{name}={given}: {item or 'an empty item'} is unknown; {valid(item, known)}")
        return item

    return read_items(name, given, one)


def checked_seed(given: str) -> int:
    """Reads a seed; raises UsageError unless it is an integer from 0 to 2^53 - 1."""
    return whole_number("seed", given, 0, MAX_SEED)


def duration_s(name: str, given: str, lowest: str, highest: str) -> float:
    """Reads a duration such as `100ms`, `2s` or `1m`, in seconds; raises UsageError unless it is in the range."""
    seconds = _seconds(given)
    if seconds is None or not (_seconds(lowest) or 0.0) <= seconds <= (_seconds(highest) or 0.0):
        raise UsageError(f"{name}={given} is not valid: give a duration from {lowest} to {highest}, such as 100ms")
    return seconds


def profile_of(profiles: Mapping[str, Profile], name: str) -> Profile:
    """Finds a profile by its name; raises UsageError, which lists all profiles, if there is none."""
    return profiles[choice("profile", name, profiles)]


def topologies_of(given: str, *, updates: str = "off") -> list[Topology]:
    """Reads comma-separated names or paths of topologies; raises an error if one is unknown, invalid or named twice."""
    topologies = [load_topology(name.strip(), updates=updates) for name in given.split(",")]
    refuse_twice([topology.name for topology in topologies])
    return topologies


def refuse_twice(names: Sequence[str]) -> None:
    """Raises UsageError, which lists them, if topologies are named twice."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise UsageError(
            f"{', '.join(twice)} is given twice; give each topology once (to run one twice, copy its file under "
            "another name)"
        )


def _seconds(given: str) -> float | None:
    if given == "0":
        return 0.0
    duration = _DURATION.fullmatch(given)
    return float(duration["number"]) * _SECONDS[duration["unit"]] if duration else None
