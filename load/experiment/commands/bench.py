"""`make topology=hybrid bench`: one trial of one topology, from nothing to a figure and a verdict."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from experiment.arguments import checked_seed, number, workload_file
from experiment.commands.options import (
    SUSPECT,
    Connections,
    Delay,
    Edge,
    Http,
    Json,
    Mesh,
    Mtls,
    Rate,
    Rtt,
    Scale,
    Think,
    Trace,
    Vus,
    Workload,
    console,
    reported_errors,
)
from experiment.plan.closed_loop import ClosedLoop, parse_closed_loop
from experiment.plan.plan import Plan, arms_of
from experiment.plan.profiles import PROFILES, Profile, profile_named
from experiment.progress import shown
from experiment.results.folder import RESULTS, read_json
from experiment.runner import begin, load_line, run_plan
from hops.run.documents import Summary
from hops.run.files import MANIFEST
from hops.terminal.bench import bench
from mesh.ports import load_ports
from mesh.switches import Switches, parse_switches
from mesh.topology import Topology, load_topology


def bench_plan(
    topology: Topology,
    switches: Switches,
    profile: Profile,
    *,
    seed: int,
    workload: Path,
    closed: ClosedLoop | None = None,
) -> Plan:
    """The plan of one trial.

    Args:
        topology: What runs.
        switches: How it runs.
        profile: How long and how hard.
        seed: Of the tape.
        workload: What arrives.
        closed: The closed loop that takes the journeys; None if they go at the tape's times.
    """
    arms = arms_of([topology], switches)
    return Plan("bench", topology.name, arms, 1, profile, seed, workload, closed)


def show(summary: Summary, folder: Path, console: Console) -> None:
    """Prints a run: latencies, hop budgets, gates, where the results are and how to look further."""
    manifest = read_json(folder / MANIFEST)
    console.print(bench(summary))
    console.print(Text(f"Load:    {load_line(manifest)}"))
    console.print(Text(f"Memory:  {manifest['memory_peak_mb']:,.0f} MiB at most, all components together"))
    console.print(Text(f"Tape:    {summary['tape']['sha256']}"))
    console.print(Text(f"Answers: {summary['tape']['answers_sha256']}"))
    console.print(Text(f"Results: {shown(folder)}"))
    console.print(Text(f"Report:  {shown(folder / 'report.html')}"))
    console.print(Text("Traces:  make trace    (opens this run's p50 and p99 exemplars in Jaeger)"))


def bench_command(
    topology: Annotated[str, typer.Option(help="A name, or the path of a YAML file.")] = "hybrid",
    profile: Annotated[str, typer.Option(help=f"How long: {', '.join(PROFILES)}.")] = "quick",
    rate: Rate = None,
    seed: Annotated[str, typer.Option(help="Of the tape: a whole number from 0.")] = "1",
    workload: Workload = "default",
    trace: Trace = None,
    scale: Scale = None,
    edge: Edge = None,
    mesh: Mesh = None,
    mtls: Mtls = None,
    http: Http = None,
    rtt: Rtt = None,
    connections: Connections = None,
    delay: Delay = None,
    vus: Vus = None,
    think: Think = None,
    as_json: Json = False,
) -> None:
    """Measure one topology: latency, hop budget, gates. Exit code 3 if the figures are SUSPECT."""
    with reported_errors():
        plan = bench_plan(
            load_topology(topology),
            parse_switches(
                edge=edge,
                mesh=mesh,
                mtls=mtls,
                trace=trace,
                scale=scale,
                http=http,
                rtt=rtt,
                connections=connections,
                delay=delay,
            ),
            profile_named(profile, rate=number("rate", rate)),
            seed=checked_seed(seed),
            workload=workload_file(workload),
            closed=parse_closed_loop(vus=vus, think=think, rate=rate),
        )
        summary, folder = run_plan(plan, begin(plan, RESULTS), load_ports(os.environ))
        if as_json:
            typer.echo((folder / "summary.json").read_text(encoding="utf-8"), nl=False)
        else:
            show(summary, folder, console())
        if not summary["valid"]:
            raise SystemExit(SUSPECT)
