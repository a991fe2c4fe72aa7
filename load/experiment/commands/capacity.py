"""`make sweep` and `make stress`."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from experiment.arguments import checked_seed, number, workload_file
from experiment.capacity import stress as stress_test
from experiment.capacity import sweep as sweeping
from experiment.capacity.document import Document, Kind, Recorder, manifest_of, suspect_reasons
from experiment.capacity.rig import Bench, Setup
from experiment.commands.options import SUSPECT, Connections, Http, Json, Workload, console, reported_errors
from experiment.errors import UsageError
from experiment.plan.closed_loop import parse_closed_loop
from experiment.progress import Progress, shown
from experiment.results.folder import RESULTS, ResultsFolder
from mesh.ports import load_ports
from mesh.switches import parse_switches
from mesh.topology import Topology, load_topology

TOPOLOGIES = "rest,graphql,grpc,hybrid"
#: No journey takes longer: then the generator gives it up.
HIGHEST_OBJECTIVE_MS = 5_000.0
HIGHEST_RATE = 10_000.0
_DURATION = re.compile(r"(?P<number>\d+(\.\d+)?)(?P<unit>ms|s)", re.ASCII)

Topologies = Annotated[str, typer.Option(help=f"Names or paths, with commas between them; {TOPOLOGIES} by default.")]
Seed = Annotated[str, typer.Option(help="The tapes' seeds follow from it: a whole number from 0.")]
Trace = Annotated[str | None, typer.Option(help="Share of the journeys that leave a trace; 0 unless told.")]


def sweep_command(
    topologies: Topologies = TOPOLOGIES,
    objective: Annotated[str, typer.Option(help="p99 must stay under it: 100ms, 1s.")] = "100ms",
    profile: Annotated[str, typer.Option(help=f"How long: {', '.join(sweeping.PROFILES)}.")] = "quick",
    start: Annotated[str | None, typer.Option(help="First rate, journeys a second; 20 unless told.")] = None,
    highest: Annotated[str | None, typer.Option("--max", help="No rate above it; 1000 unless told.")] = None,
    seed: Seed = "1",
    workload: Workload = "default",
    trace: Trace = None,
    http: Http = None,
    connections: Connections = None,
    as_json: Json = False,
) -> None:
    """Find the highest rate that each topology holds. Exit code 3 if one was not confirmed, or is SUSPECT."""
    with reported_errors():
        first, last = rates(start, highest)
        options = sweeping.Sweep(
            setup=_setup(topologies, seed, workload, trace=trace, http=http, connections=connections),
            profile=sweeping.profile_named(profile),
            objective_ms=objective_ms(objective),
            start=first,
            highest=last,
        )
        chosen = {
            "objective_ms": options.objective_ms,
            "failures_below": sweeping.FAILURES_BELOW,
            "profile": asdict(options.profile),
            "plan": asdict(options.plan),
        }

        def work(recorder: Recorder, bench: Bench) -> None:
            sweeping.announced(options, bench.say)
            sweeping.sweep(options, recorder, bench)

        _run("sweep", options.setup, chosen, work, as_json=as_json)


def stress_command(
    topologies: Topologies = TOPOLOGIES,
    users: Annotated[str, typer.Option(help="Virtual users of each step: 100,300,1000,3000,10000.")] = "",
    think: Annotated[str, typer.Option(help="From an answer to the same user's next journey: 10s.")] = "",
    profile: Annotated[str, typer.Option(help=f"How long: {', '.join(stress_test.PROFILES)}.")] = "quick",
    seed: Seed = "1",
    workload: Workload = "default",
    trace: Trace = None,
    http: Http = None,
    connections: Annotated[
        str | None, typer.Option(help="Connections of all clients, 1 to 256; one for 100 users unless told.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Load topologies with more and more users, and count what fails. Exit code 3 if the figures are SUSPECT."""
    with reported_errors():
        loop = parse_closed_loop(vus="1", think=think or stress_test.DEFAULT_THINK)
        assert loop is not None
        options = stress_test.Stress(
            setup=_setup(topologies, seed, workload, trace=trace, http=http, connections=connections),
            profile=stress_test.profile_named(profile),
            users=stress_test.parse_users(users),
            think_s=loop.think_s,
            connections=stress_test.parse_connections(connections),
        )
        chosen = {
            "users": list(options.users),
            "think_s": options.think_s,
            "connections": options.connections or None,
            "profile": asdict(options.profile),
        }

        def work(recorder: Recorder, bench: Bench) -> None:
            stress_test.announced(options, bench.say)
            stress_test.stress(options, recorder, bench)

        _run("stress", options.setup, chosen, work, as_json=as_json)


def objective_ms(given: str) -> float:
    """Reads the objective for p99.

    Raises:
        UsageError: It is no duration from 1 ms to 5 s.
    """
    found = _DURATION.fullmatch(given)
    value = float(found["number"]) * (1000.0 if found["unit"] == "s" else 1.0) if found else 0.0
    if not 1.0 <= value <= HIGHEST_OBJECTIVE_MS:
        raise UsageError(f"objective={given} is not valid: give a duration from 1ms to 5s, such as 100ms")
    return value


def rates(start: str | None, highest: str | None) -> tuple[float, float]:
    """Reads the first and the highest rate of a sweep, journeys a second.

    Raises:
        UsageError: One is no number from 1 to 10,000, or the first is above the highest.
    """
    first, last = number("start", start), number("max", highest)
    for name, value in (("start", first), ("max", last)):
        if value is not None and not 1 <= value <= HIGHEST_RATE:
            raise UsageError(f"{name}={value:g} is out of range: give journeys a second, from 1 to {HIGHEST_RATE:g}")
    last = sweeping.DEFAULT_HIGHEST if last is None else last
    first = min(sweeping.DEFAULT_START, last) if first is None else first
    if first > last:
        raise UsageError(f"start={first:g} is above max={last:g}: give a start that is not")
    return first, last


def _setup(topologies: str, seed: str, workload: str, *, trace: str | None, **switches: str | None) -> Setup:
    chosen = tuple(load_topology(name.strip()) for name in (topologies or TOPOLOGIES).split(","))
    _refuse_twice(chosen)
    # Spans cost CPU on the machine that is to be filled, so that nothing is traced unless asked for.
    return Setup(
        topologies=chosen,
        switches=parse_switches(trace=trace or 0, **switches),
        workload=workload_file(workload),
        seed=checked_seed(seed),
        ports=load_ports(os.environ),
        results=RESULTS,
    )


def _refuse_twice(topologies: tuple[Topology, ...]) -> None:
    names = [topology.name for topology in topologies]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"{', '.join(twice)} is named twice; give each topology once")


def _run(
    kind: Kind, setup: Setup, options: dict[str, Any], work: Callable[[Recorder, Bench], None], *, as_json: bool
) -> None:
    folder = ResultsFolder.new(setup.results, kind)
    folder.open()
    recorder = Recorder(folder.path, kind, folder.final.name, manifest_of(setup), options)
    try:
        work(recorder, Bench(setup, folder.path, folder.final.name, Progress()))
    except BaseException:
        _set_aside(folder, recorder)
        raise
    document = recorder.end(complete=True)
    _report(document, folder.path)
    path = folder.publish(latest=False)  # `latest` is what `make trace` and `make audit` look at: a run with traces
    if as_json:
        typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        from experiment.capacity.terminal import capacity_view

        out = console()
        out.print(capacity_view(document))
        out.print(f"\nResults: {shown(path)}")
        out.print(f"Report:  {shown(path / 'report.html')}")
    if any(suspect_reasons(document, topology.name) for topology in setup.topologies):
        raise SystemExit(SUSPECT)


def _set_aside(folder: ResultsFolder, recorder: Recorder) -> None:
    document = recorder.end(complete=False)
    if document["steps"]:
        _report(document, folder.path)
    kept = folder.set_aside()
    if kept is not None:
        steps = len(document["steps"])
        print(f"{steps} finished step{'s are' if steps != 1 else ' is'} in {shown(kept)}.", file=sys.stderr)


def _report(document: Document, folder: Path) -> None:
    from experiment.capacity.report import write_report

    write_report(document, folder)
