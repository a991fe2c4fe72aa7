"""`python -m proofs benchmark` and `benchmark-budgets`: how fast budgets and reports are computed."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import polars as pl
import psutil
import typer

from experiment.commands.options import reported_errors
from hops.budget.parts import budgets_of
from hops.commands.sources import AsJson
from hops.elements.element import Points
from hops.run.files import CALLS_FILE, HOPS_FILE, JOURNEYS_FILE, LABELS
from hops.traces import otlp
from hops.traces.write_otlp import otlp_document
from mesh.supervisor.child import child_process
from proofs.outcome import give
from synthetic.formats import WRITERS, write_traces
from synthetic.run import write_generated_run
from synthetic.traces import shop_trace, write_lines

TARGET_TRACES_PER_S = 5000
TARGET_RUN_S = 600.0
TARGET_RUN_MIB = 2048.0
"""Targets for a run of 10 million spans, on two cores."""
TARGET_FORMAT_S_PER_M = 60.0
TARGET_FORMAT_MIB = 1536.0
"""Targets for `budget` on one file of a million spans in any format, on two cores."""
_TOPOLOGIES = ("rest", "graphql", "grpc", "hybrid")
_BLOCKS = 5
_SPANS = 30
_LOOK_S = 0.05


def benchmark(
    traces: Annotated[int, typer.Option(min=1, help="Number of traces in a round.")] = 2000,
    spans: Annotated[int, typer.Option(min=6, help="Number of spans in each trace.")] = 30,
    rounds: Annotated[int, typer.Option(min=1, help="Number of rounds; the best one counts.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Measure how many traces a second become hop budgets on one core, starting from JSON; fails below the target."""
    made = [shop_trace(seed, spans) for seed in range(traces)]
    texts = [json.dumps(otlp_document(trace)).encode() for trace in made]
    gc.freeze()  # the objects that exist already belong to no trace
    laps = ("decode", "decoded_to_budgets", "spans_to_budgets")
    best_s = dict.fromkeys(laps, float("inf"))
    gap_ns = budgets = 0
    for _ in range(rounds):
        took_s = dict.fromkeys(laps, 0.0)
        for text, trace in zip(texts, made, strict=True):
            # CPU time of this process: on a shared machine, wall-clock time includes waiting for other programs.
            began = time.process_time()
            decoded = otlp.DECODER.decode(text)
            was_decoded = time.process_time()
            of_decoded, _quality = budgets_of([otlp.spans_of(decoded)])
            had_budgets = time.process_time()
            of_spans, _quality = budgets_of([trace])
            ended = time.process_time()
            took_s["decode"] += was_decoded - began
            took_s["decoded_to_budgets"] += had_budgets - was_decoded
            took_s["spans_to_budgets"] += ended - had_budgets
            gap_ns += sum(abs(budget.gap_ns) for budget in (*of_decoded, *of_spans))
            budgets += len(of_decoded) + len(of_spans)
        best_s = {name: min(best_s[name], took_s[name]) for name in laps}
    traces_per_s = traces / best_s["spans_to_budgets"]
    us_per_span = {name: seconds / (traces * spans) * 1e6 for name, seconds in best_s.items()}
    figures = {"traces": traces, "spans": spans, "rounds": rounds, "traces_per_s": traces_per_s, "gap_ns": gap_ns}
    is_complete = budgets == 2 * rounds * traces  # traces that become no budget take no time
    holds = is_complete and not gap_ns and (spans > 30 or traces_per_s >= TARGET_TRACES_PER_S)
    targets = {"us_per_span": us_per_span, "target_traces_per_s": TARGET_TRACES_PER_S}
    lines = [
        f"{traces_per_s:,.0f} traces of {spans} spans a second on one core (best of {rounds} rounds of {traces:,}; "
        f"target: at least {TARGET_TRACES_PER_S:,}); total budget imbalance: {gap_ns} ns; "
        f"{2 * rounds * traces - budgets:,} traces became no budget",
        f"Per span: {us_per_span['decode']:.2f} µs to decode JSON, {us_per_span['decoded_to_budgets']:.2f} µs from "
        f"there to budgets, of which {us_per_span['spans_to_budgets']:.2f} µs once there are spans",
    ]
    give({"holds": holds, **figures, **targets}, [Points(lines)], as_json=as_json)


def benchmark_budgets(
    spans: Annotated[
        int | None, typer.Option(min=60_000, help="Number of spans (default: 10 million, or 1 million of a format).")
    ] = None,
    kind: Annotated[
        str,
        typer.Option("--format", help="Measure `budget` and one file instead: jaeger, otlp-json, zipkin, … or all."),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Measure the analysis of a run of 10 million spans, from JSON to report; fails above 10 min or 2 GiB.

    With --format, measure the budgets of one file of a million spans; fails above 60 s or 1.5 GiB.
    """
    if kind:
        _benchmark_formats(kind, spans or 1_000_000, as_json)
        return
    spans = spans or 10_000_000
    with tempfile.TemporaryDirectory(prefix="hops-budgets-") as scratch:
        file, rows = Path(scratch) / "traces.jsonl", Path(scratch) / "rows"
        per_trial = spans // (_SPANS * len(_TOPOLOGIES) * _BLOCKS)
        folder = write_generated_run(
            Path(scratch) / "run", topologies=_TOPOLOGIES, blocks=_BLOCKS, journeys_per_trial=per_trial, traced=1.0
        )
        journeys = pl.scan_parquet(folder / JOURNEYS_FILE).select("trace_id", "journey", *LABELS)
        written = write_lines(file, journeys.select("trace_id", "journey").collect().iter_rows(), spans=_SPANS)
        json_gb = file.stat().st_size / 1e9
        budgets_s, budgets_mib = _measure("rows", str(file), "--out", str(rows))
        for name in (HOPS_FILE, CALLS_FILE):
            labelled = pl.scan_parquet(rows / name).join(journeys.drop("journey"), on="trace_id")
            labelled.sink_parquet(folder / name)
        report_s, report_mib = _measure("report", str(folder))
    seconds, peak_mib = budgets_s + report_s, max(budgets_mib, report_mib)
    figures = {"spans": written, "json_gb": json_gb, "seconds": seconds, "peak_mib": peak_mib}
    of_each = {"budgets_s": budgets_s, "report_s": report_s, "budgets_mib": budgets_mib, "report_mib": report_mib}
    targets = {"target_seconds": TARGET_RUN_S, "target_mib": TARGET_RUN_MIB}
    lines = [
        f"{written:,} spans ({json_gb:.1f} GB of JSON): {seconds:.0f} s (at most {TARGET_RUN_S:.0f}), "
        f"{peak_mib:,.0f} MiB in all processes together (at most {TARGET_RUN_MIB:,.0f})",
        f"Budgets: {budgets_s:.0f} s ({written / budgets_s:,.0f} spans a second), {budgets_mib:,.0f} MiB",
        f"Report: {report_s:.0f} s, {report_mib:,.0f} MiB",
    ]
    holds = seconds <= TARGET_RUN_S and peak_mib <= TARGET_RUN_MIB
    give({"holds": holds, **figures, **of_each, **targets}, [Points(lines)], as_json=as_json)


def _benchmark_formats(kind: str, spans: int, as_json: bool) -> None:
    if kind != "all" and kind not in WRITERS:
        raise typer.BadParameter(f"--format {kind}: choose one of {', '.join(WRITERS)}, all")
    measured: dict[str, dict[str, float]] = {}
    lines, holds = list[str](), True
    with tempfile.TemporaryDirectory(prefix="hops-formats-") as scratch:
        for one in WRITERS if kind == "all" else (kind,):
            file = Path(scratch) / one
            written = write_traces(file, one, spans // _SPANS, spans=_SPANS)
            seconds, peak_mib = _measure("budget", str(file), "--json")
            gb, max_s = file.stat().st_size / 1e9, TARGET_FORMAT_S_PER_M * max(1.0, written / 1e6)
            measured[one] = {"spans": written, "gb": gb, "seconds": seconds, "peak_mib": peak_mib}
            holds &= seconds <= max_s and peak_mib <= TARGET_FORMAT_MIB
            file.unlink()
            lines.append(
                f"{one}: {written:,} spans ({gb:.2f} GB): {seconds:.0f} s, {peak_mib:,.0f} MiB "
                f"(at most {max_s:.0f} s, {TARGET_FORMAT_MIB:,.0f} MiB)"
            )
    targets = {"target_s_per_million": TARGET_FORMAT_S_PER_M, "target_mib": TARGET_FORMAT_MIB}
    give({"holds": holds, "formats": measured, **targets}, [Points(lines)], as_json=as_json)


def _measure(*command: str) -> tuple[float, float]:
    """Runs a `hops` command; returns its duration in seconds, and the peak memory of all its processes in MiB."""
    began = time.monotonic()
    peak = 0
    argv = [sys.executable, "-m", "hops", *command]
    with reported_errors(), Path(os.devnull).open("wb") as nowhere, child_process(argv, stdout=nowhere) as running:
        process = psutil.Process(running.pid)
        while running.poll() is None:
            peak = max(peak, _memory(process))
            time.sleep(_LOOK_S)
    if running.returncode:
        raise typer.Exit(1)
    return time.monotonic() - began, peak / 2**20


def _memory(process: psutil.Process) -> int:
    """Returns the resident memory of a process and its children in bytes; shared memory counts once per process."""
    resident = 0
    with contextlib.suppress(psutil.NoSuchProcess):
        for one in (process, *process.children(recursive=True)):
            resident += one.memory_info().rss
    return resident
