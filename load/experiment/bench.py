"""`make topology=hybrid bench`: one trial of one topology, from nothing to a figure and a verdict."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from experiment.closed_loop import ClosedLoop
from experiment.plan import Plan, arms_of
from experiment.profiles import Profile
from experiment.results import read_json
from experiment.runner import load_line, shown
from hops import render
from hops.figures import Summary
from hops.run_files import MANIFEST
from mesh.switches import Switches
from mesh.topology import Topology


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


def show(summary: Summary, folder: Path, topology: str, console: Console) -> None:
    """Prints a run: latencies, hop budgets, gates, where the results are and how to look further."""
    manifest = read_json(folder / MANIFEST)
    console.print(render.bench(summary, topology))
    console.print(Text(f"\nLoad:    {load_line(manifest)}"))
    console.print(Text(f"Memory:  {manifest['memory_peak_mb']:,.0f} MiB at most, all components together"))
    console.print(Text(f"Tape:    {summary['tape']['sha256']}"))
    console.print(Text(f"Answers: {summary['tape']['answers_sha256']}"))
    console.print(Text(f"Results: {shown(folder)}"))
    console.print(Text(f"Report:  {shown(folder / 'report.html')}"))
    console.print(Text("Traces:  make trace    (opens this run's p50 and p99 exemplars in Jaeger)"))
