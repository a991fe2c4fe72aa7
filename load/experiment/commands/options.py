"""What the commands of `python -m experiment` share: their options, how errors read, and how a run ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from experiment.progress import shown
from hops.errors import HopsError
from hops.terminal.console import terminal
from mesh.reporting import reported

#: Exit code of a run that ended well but whose figures must not be trusted.
SUSPECT = 3
WIDTH_OF_A_PIPE = 110
COMPARED = "rest,graphql,grpc,hybrid"

#: Options that several commands have.
Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
Topologies = Annotated[str, typer.Option(help="Names of topologies or paths of their files, with commas between.")]
Rate = Annotated[str | None, typer.Option(help="Rate of an open loop, journeys a second; the profile's by default.")]
Seed = Annotated[str, typer.Option(help="Seed of everything that is drawn at random, an integer ≥ 0.")]
Workload = Annotated[str, typer.Option(help="Workload: a name in load/workloads/, or the path of a YAML file.")]
Trace = Annotated[str | None, typer.Option(help="Share of the journeys that leave a trace, 0 to 1.")]
Scale = Annotated[str | None, typer.Option(help="Size of the data; 1 is 10,000 of each.")]
Edge = Annotated[str | None, typer.Option(help="envoy or none.")]
Mesh = Annotated[str | None, typer.Option(help="Sidecars: none.")]
Mtls = Annotated[str | None, typer.Option(help="off.")]
Http = Annotated[str | None, typer.Option(help="HTTP version from client to edge: 1 or 2.")]
Rtt = Annotated[str | None, typer.Option(help="Added client round trip in ms: 0.")]
Connections = Annotated[str | None, typer.Option(help="Connections of all clients to the edge: 1 to 256.")]
Delay = Annotated[str | None, typer.Option(help="Slow components by known times: payment:2ms,user:500us.")]
Vus = Annotated[str | None, typer.Option(help="Number of virtual users of a closed loop, in place of a rate.")]
Think = Annotated[str | None, typer.Option(help="Think time between journeys, as 100ms or 2s; needs vus.")]
RunName = Annotated[str, typer.Option(help="Run: latest, the name of a folder in results/, or a path.")]


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


def print_file(file: Path) -> None:
    """Prints a JSON file of a run as it is, for `--json`."""
    typer.echo(file.read_text(encoding="utf-8"), nl=False)


def print_places(out: Console, folder: Path) -> None:
    """Says where a run's results and its report are."""
    out.print(f"Results: {shown(folder)}")
    out.print(f"Report:  {shown(folder / 'report.html')}")


def end(*, valid: bool) -> None:
    """Ends a command whose run is SUSPECT with its exit code."""
    if not valid:
        raise SystemExit(SUSPECT)
