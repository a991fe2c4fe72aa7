"""`python -m hops benchmark` and `benchmark-report`: how fast budgets and reports are made."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from hops.budget.budget import budgets_of
from hops.commands.budget import AsJson
from hops.run.files import read_run
from hops.synthetic.traces import shop_trace

TARGET_TRACES_PER_S = 5000
TARGET_S = 60.0
TARGET_MIB = 1536.0
_TOPOLOGIES = ("rest", "graphql", "grpc", "hybrid")
_BLOCKS = 5
_TRACED = 0.2


def benchmark(
    traces: Annotated[int, typer.Option(min=1, help="Number of traces in a round.")] = 2000,
    spans: Annotated[int, typer.Option(min=6, help="Number of spans in each trace.")] = 30,
    rounds: Annotated[int, typer.Option(min=1, help="Number of rounds; the best one counts.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Measure how many traces a second become hop budgets on one core; fails below the target."""
    made = [shop_trace(seed, spans) for seed in range(traces)]
    best_s = float("inf")
    gap_ns = 0
    for _ in range(rounds):
        # CPU time of this process: on a shared machine the wall clock measures the neighbours.
        began = time.process_time()
        budgets, _quality = budgets_of(made)
        best_s = min(best_s, time.process_time() - began)
        gap_ns = sum(budget.gap_ns for budget in budgets)
    traces_per_s = traces / best_s
    if as_json:
        figures = {"traces": traces, "spans": spans, "rounds": rounds, "traces_per_s": traces_per_s, "gap_ns": gap_ns}
        print(json.dumps({**figures, "target_traces_per_s": TARGET_TRACES_PER_S}))
    else:
        print(
            f"{traces_per_s:,.0f} traces of {spans} spans a second on one core (best of {rounds} rounds of {traces:,}; "
            f"target: at least {TARGET_TRACES_PER_S:,}); total budget imbalance: {gap_ns} ns"
        )
    if gap_ns or (spans <= 30 and traces_per_s < TARGET_TRACES_PER_S):
        raise typer.Exit(1)


def benchmark_report_command(
    journeys: Annotated[int, typer.Option(min=1000, help="Number of journeys in the whole run.")] = 100_000,
    as_json: AsJson = False,
) -> None:
    """Measure analysis and report of a large synthetic run; fails above 60 s or 1.5 GiB."""
    from hops.synthetic.run import write_generated_run

    with tempfile.TemporaryDirectory(prefix="hops-report-") as scratch:
        folder = write_generated_run(
            Path(scratch) / "run",
            topologies=_TOPOLOGIES,
            blocks=_BLOCKS,
            journeys_per_trial=journeys // (len(_TOPOLOGIES) * _BLOCKS),
            traced=_TRACED,
        )
        began = time.monotonic()
        # In a process of its own, as a user runs it.
        subprocess.run([sys.executable, "-m", "hops", "report", str(folder)], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        seconds = time.monotonic() - began
        run = read_run(folder)
        page_mb = (folder / "report.html").stat().st_size / 1e6
    count, traces = run.journeys.height, run.hops["trace_id"].n_unique()
    # Of the largest child; on Linux in KiB (getrusage(2)).
    peak_mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    if as_json:
        figures = {"journeys": count, "traces": traces, "seconds": seconds, "peak_mib": peak_mib, "page_mb": page_mb}
        print(json.dumps({**figures, "target_seconds": TARGET_S, "target_mib": TARGET_MIB}))
    else:
        print(
            f"{count:,} journeys, {traces:,} traces: {seconds:.1f} s (at most {TARGET_S:.0f}), "
            f"{peak_mib:,.0f} MiB (at most {TARGET_MIB:,.0f}), page of {page_mb:.1f} MB"
        )
    if seconds > TARGET_S or peak_mib > TARGET_MIB:
        raise typer.Exit(1)
