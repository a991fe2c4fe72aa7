"""What the commands of `python -m experiment` share: where results are, how options are checked, how errors read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console

from hops.errors import HopsError
from hops.terminal.tables import terminal
from mesh.reporting import reported

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
