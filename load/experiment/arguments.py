"""Checks of what a user gave: numbers, seeds, workloads."""

from __future__ import annotations

from pathlib import Path

from experiment.errors import UsageError
from mesh.paths import ROOT

WORKLOADS = ROOT / "load" / "workloads"


def number(name: str, given: str | None) -> float | None:
    """Reads a number that a user gave; None if there is none.

    Raises:
        UsageError: It is no number.
    """
    if given is None or given == "":
        return None
    try:
        return float(given)
    except ValueError as error:
        raise UsageError(f"{name}={given} is not a number") from error


def checked_seed(given: str) -> int:
    """Reads a seed.

    Raises:
        UsageError: It is no whole number from 0 to 2^53 - 1.
    """
    if not (given.isascii() and given.isdigit() and int(given) < 2**53):
        raise UsageError(f"seed={given} is not valid: give a whole number from 0 to 2^53 - 1")
    return int(given)


def workload_file(given: str) -> Path:
    """Finds a workload by its name or path.

    Raises:
        UsageError: There is none; lists those that are there.
    """
    named = {file.stem: file for file in sorted(WORKLOADS.glob("*.yaml"))}
    path = Path(given) if given.endswith((".yaml", ".yml")) else named.get(given)
    if path is None or not path.is_file():
        raise UsageError(
            f"workload={given} is not there: choose one of {', '.join(named)}, or give the path of a YAML file"
        )
    return path


def whole_number(name: str, given: str, lowest: int, highest: int) -> int:
    """Reads a whole number that a user gave.

    Raises:
        UsageError: It is none, or out of range; names both ends.
    """
    if not (given.isascii() and given.isdigit() and lowest <= int(given) <= highest):
        raise UsageError(f"{name}={given} is not valid: give a whole number from {lowest} to {highest}")
    return int(given)
