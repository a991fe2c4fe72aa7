"""`make sweep` and `make stress`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any

import typer

from experiment.arguments import (
    checked_seed,
    duration_s,
    number,
    profile_of,
    topologies_of,
    workload_file,
)
from experiment.capacity import stress as stress_test
from experiment.capacity import sweep as sweeping
from experiment.capacity.document import Document, Kind, Recorder, suspect_reasons
from experiment.capacity.rig import Rig, Setup
from experiment.commands import options
from experiment.errors import UsageError
from experiment.plan.closed_loop import LONGEST_THINK
from experiment.plan.networks import refuse_networks
from experiment.plan.plan import DATA_SEED
from experiment.progress import Progress, shown
from experiment.results.folder import RESULTS, ResultsFolder
from experiment.results.manifest import manifest_of
from hops.gates.limits import kind_of
from mesh.description.options import Connections, Http, Json, Tls, Trace
from mesh.description.ports import load_ports
from mesh.description.switches import parse_switches

#: No journey takes longer: then the generator gives it up.
HIGHEST_OBJECTIVE = "5s"
HIGHEST_RATE = 10_000.0


def sweep_command(
    topologies: options.Topologies = options.COMPARED,
    objective: Annotated[str, typer.Option(help="Latency objective that p99 must stay under, 1ms to 5s.")] = "100ms",
    profile: Annotated[
        str, typer.Option(help=f"Profile that sets the duration of the steps: {', '.join(sweeping.PROFILES)}.")
    ] = "quick",
    start: Annotated[
        str | None, typer.Option(help="Rate to start at, journeys per second (default: 20, or max if that is lower).")
    ] = None,
    highest: Annotated[str, typer.Option("--max", help="Highest rate to try, journeys per second.")] = "1000",
    seed: options.Seed = "1",
    workload: options.Workload = "default",
    trace: Trace = "0",
    http: Http = None,
    tls: Tls = None,
    connections: Connections = None,
    as_json: Json = False,
) -> None:
    """The command `sweep`; `experiment.cli` has its help."""
    with options.reported_errors():
        first, last = rates(start, highest)
        setup = _setup("sweep", topologies, seed, workload, trace=trace, http=http, tls=tls, connections=connections)
        sweep = sweeping.Sweep(
            profile=profile_of(sweeping.PROFILES, profile),
            objective_ms=1e3 * duration_s("objective", objective, "1ms", HIGHEST_OBJECTIVE),
            start=first,
            highest=last,
        )
        chosen = {**asdict(sweep), "plan": asdict(sweep.plan), "failures_below": kind_of("failure_share").limit}
        _run("sweep", setup, chosen, lambda rig: sweeping.sweep(sweep, rig), as_json=as_json)


def stress_command(
    topologies: options.Topologies = options.COMPARED,
    users: Annotated[
        str, typer.Option(help="Number of virtual users at each step, ascending.")
    ] = stress_test.DEFAULT_USERS,
    think: Annotated[str, typer.Option(help="Think time between a user's journeys, such as 500ms or 10s.")] = "10s",
    profile: Annotated[
        str, typer.Option(help=f"Profile that sets the duration of the steps: {', '.join(stress_test.PROFILES)}.")
    ] = "quick",
    seed: options.Seed = "1",
    workload: options.Workload = "default",
    trace: Trace = "0",
    http: Http = None,
    tls: Tls = None,
    connections: Annotated[
        str | None, typer.Option(help="Client connections in total, 1 to 256 (default: one per 100 users).")
    ] = None,
    as_json: Json = False,
) -> None:
    """The command `stress`; `experiment.cli` has its help."""
    with options.reported_errors():
        setup = _setup("stress", topologies, seed, workload, trace=trace, http=http, tls=tls, connections=connections)
        stress = stress_test.Stress(
            profile=profile_of(stress_test.PROFILES, profile),
            users=stress_test.parse_users(users),
            think_s=duration_s("think", think, "0s", LONGEST_THINK),
            connections=setup.switches.connections if connections else 0,
        )
        _run("stress", setup, asdict(stress), lambda rig: stress_test.stress(stress, rig), as_json=as_json)


def rates(start: str | None, highest: str) -> tuple[float, float]:
    """Reads the first and the highest rate of a sweep, journeys a second.

    Raises:
        UsageError: One is no number from 1 to 10,000, or the first is above the highest.
    """
    first, last = number("start", start), number("max", highest)
    for name, value in (("start", first), ("max", last)):
        if value is not None and not 1 <= value <= HIGHEST_RATE:
            raise UsageError(f"{name}={value:g} is out of range: give journeys per second, from 1 to {HIGHEST_RATE:g}")
    assert last is not None
    first = min(sweeping.DEFAULT_START, last) if first is None else first
    if first > last:
        raise UsageError(f"start={first:g} is above max={last:g}: give a start of at most max")
    return first, last


def _setup(kind: Kind, topologies: str, seed: str, workload: str, **switches: str | None) -> Setup:
    file = workload_file(workload)
    refuse_networks(file, kind)
    return Setup(
        topologies=tuple(topologies_of(topologies)),
        switches=parse_switches(**switches),
        workload=file,
        seed=checked_seed(seed),
        ports=load_ports(os.environ),
    )


def _run(kind: Kind, setup: Setup, chosen: dict[str, Any], work: Callable[[Rig], None], *, as_json: bool) -> None:
    folder = ResultsFolder.new(RESULTS, kind)
    topologies = {topology.name: topology for topology in setup.topologies}
    seeds = {"tape": setup.seed, "data": DATA_SEED}
    manifest = manifest_of(kind, folder.final.name, topologies, setup.switches, setup.workload, seeds)
    recorder = Recorder(folder.path, kind, manifest, chosen)
    try:
        work(Rig(setup, folder.path, recorder, Progress()))
    except BaseException:
        _set_aside(folder, recorder)
        raise
    document = recorder.end(complete=True)
    _report(document, folder)
    path = folder.publish(latest=False)  # `latest` is what `make trace` and `make audit` look at: a run with traces
    if as_json:
        options.print_file(path / f"{kind}.json")
    else:
        from experiment.capacity.report import capacity_view

        out = options.console()
        out.print(capacity_view(document))
        options.print_places(out, path)
    options.end(valid=not any(suspect_reasons(document, name) for name in topologies))


def _set_aside(folder: ResultsFolder, recorder: Recorder) -> None:
    document = recorder.end(complete=False)
    if document["steps"]:
        _report(document, folder)
    kept = folder.set_aside()
    if kept is not None:
        steps = len(document["steps"])
        print(f"{steps} finished step{'s are' if steps != 1 else ' is'} in {shown(kept)}.", file=sys.stderr)


def _report(document: Document, folder: ResultsFolder) -> None:
    # Charts take a second to import, which a wrong setting should not have to wait for.
    from experiment.capacity.report import write_report

    write_report(document, folder.path)
