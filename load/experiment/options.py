"""What the commands of `python -m experiment` share: where results are, how options are checked, how errors read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from experiment.profiles import UsageError
from hops.errors import HopsError
from hops.layout import terminal
from mesh.paths import ROOT
from mesh.reporting import reported

RESULTS = ROOT / "results"
WORKLOADS = ROOT / "load" / "workloads"
#: Exit code of a run that ended well but whose figures must not be trusted.
SUSPECT = 3
WIDTH_OF_A_PIPE = 110

#: Options that several commands have.
Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
Rate = Annotated[str | None, typer.Option(help="Journeys a second; the profile's own unless told.")]
Trace = Annotated[str | None, typer.Option(help="Share of the journeys that leave a trace, 0 to 1.")]
Scale = Annotated[str | None, typer.Option(help="Size of the data; 1 is 10,000 of each.")]
Edge = Annotated[str | None, typer.Option(help="envoy or none.")]
Mesh = Annotated[str | None, typer.Option(help="Sidecars: none.")]
Mtls = Annotated[str | None, typer.Option(help="off.")]
Http = Annotated[str | None, typer.Option(help="HTTP version from client to edge: 1 or 2.")]
Rtt = Annotated[str | None, typer.Option(help="Added client round trip in ms: 0.")]
Connections = Annotated[str | None, typer.Option(help="Connections of all clients to the edge: 1 to 256.")]
Delay = Annotated[str | None, typer.Option(help="Slow components by known times: payment:2ms,user:500us.")]
Vus = Annotated[str | None, typer.Option(help="Closed loop of so many virtual users, in place of a rate.")]
Think = Annotated[str | None, typer.Option(help="With vus: from an answer to the next journey: 100ms, 2s.")]
Workload = Annotated[str, typer.Option(help="A name in load/workloads/, or the path of a YAML file.")]
RunName = Annotated[str, typer.Option(help="latest, the name of a folder in results/, or a path.")]


@contextmanager
def reported_errors() -> Iterator[None]:
    """Turns the errors that a user can cause into a line on standard error and an exit code."""
    with reported():
        try:
            yield
        except HopsError as error:
            print(f"error: {error}", file=sys.stderr)
            raise SystemExit(1) from error


def console() -> Console:
    """Where tables go: as wide as the terminal, or 110 columns in a pipe."""
    return terminal(width=None if sys.stdout.isatty() else WIDTH_OF_A_PIPE)


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
