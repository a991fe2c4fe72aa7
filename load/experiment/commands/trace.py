"""`trace`: a run's exemplars, where to open each in Jaeger, and as a tree with its own budget."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console, RenderableType

from experiment.commands.options import RunName, console, reported_errors
from experiment.errors import UsageError
from experiment.results.folder import RESULTS, find_run
from experiment.trial import exemplars
from experiment.trial.exemplars import Exemplars
from experiment.trial.outcome import EXEMPLARS
from hops.budget.parts import budget_of_tree
from hops.elements.table import Cell, Column, Table, number, words
from hops.run.documents.trial import TrialRecord
from hops.run.files import TRIALS, Trials, read_document, trial_folder
from hops.tables.trace import trace_table
from hops.terminal.render import rendered
from hops.terminal.trace import trace_tree
from hops.traces.otlp import read_file
from hops.traces.span import Span
from hops.traces.tree import grow
from mesh.description.ports import load_ports
from mesh.native.trace_store import open_trace_store

WATCH_S = 0.5


def print_exemplars(file: Path, chosen: Exemplars, query_url: str, console: Console, *, journey: str = "") -> None:
    """Prints where to find a run's exemplars; with a journey, also what they show.

    Args:
        file: The saved traces.
        chosen: The trace of each journey and percentile.
        query_url: URL of the Jaeger that has the traces now.
        console: Where to print.
        journey: The journey whose trees and budgets to print; empty to list all journeys.
    """
    traces: dict[str, list[Span]] = {}
    for span in read_file(file):
        traces.setdefault(span.trace_id, []).append(span)
    rows: list[list[Cell]] = []
    trees: list[RenderableType] = []
    for name, of in sorted(chosen.items()) if not journey else [(journey, chosen[journey])]:
        for percentile, trace_id in sorted(of.items()):
            tree = grow(traces[trace_id])
            trees += [f"\n{name}, {percentile}: {trace_id}", trace_tree(tree)]
            budget = budget_of_tree(tree)
            if budget is not None:
                largest, time_ms = max(budget.parts, key=lambda part: budget.parts[part]), number(budget.total_ns / 1e6)
                rows.append([words(name), words(percentile), time_ms, words(largest), words(trace_id)])
                trees.append(rendered([trace_table(f"Hop budget of {trace_id}", budget.parts, budget.crossings)]))
    columns = [Column("journey", numeric=False), Column("of", numeric=False), Column("time", "ms")]
    columns += [Column("largest part", numeric=False), Column("trace", numeric=False)]
    table = Table("exemplars", "Exemplars: the traces nearest to p50 and p99", columns, rows, heads=2)
    console.print(rendered([table]))
    console.print(f"Jaeger's UI: {query_url}/trace/TRACE   (needs a Jaeger with its UI: set JAEGER_BIN)")
    console.print(f"Jaeger's API: {query_url}/api/v3/traces/TRACE")
    for part in (
        trees if journey else ["A journey's exemplars as trees with their budgets: make trace journey=checkout"]
    ):
        console.print(part)


def trace_command(
    run: RunName = "latest",
    journey: Annotated[
        str, typer.Option(help="Journey whose exemplars to print as trees (default: list all exemplars).")
    ] = "",
    topology: Annotated[
        str, typer.Option(help="Topology whose exemplars to show, for a comparison (default: its first).")
    ] = "",
    wait: Annotated[bool, typer.Option(help="Keep Jaeger running until Ctrl-C.")] = True,
) -> None:
    """The command `trace`; `experiment.cli` has its help."""
    with reported_errors():
        folder = find_run(RESULTS, run)
        trial = _trial_of(read_document(folder / TRIALS, form=Trials)["trials"], topology)
        chosen, saved = trial["exemplars"], folder / trial_folder(trial["topology"], trial["block"]) / EXEMPLARS
        if journey and journey not in chosen:
            raise UsageError(f"journey={journey} has no exemplar in this run; available: {', '.join(sorted(chosen))}")
        ports = load_ports(os.environ)
        with open_trace_store(ports) as started:
            exemplars.load(saved, ports.url("jaeger-otlp-http"))
            print_exemplars(saved, chosen, ports.url("jaeger-query-http"), console(), journey=journey)
            if started and wait:
                print("Jaeger runs until Ctrl-C.", file=sys.stderr)
                while True:
                    time.sleep(WATCH_S)


def _trial_of(trials: Sequence[TrialRecord], topology: str) -> TrialRecord:
    used = [trial for trial in trials if trial["used"]]
    for trial in used:
        if topology in ("", trial["topology"]):
            return trial
    there = ", ".join(dict.fromkeys(trial["topology"] for trial in used))
    raise UsageError(f"topology={topology} is not in this run; available: {there}")
