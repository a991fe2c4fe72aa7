"""`trace`: a run's exemplars, where to open each in Jaeger, and as a tree with its own budget."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console, RenderableType

from experiment.commands.options import RunName, console, reported_errors
from experiment.errors import UsageError
from experiment.results.folder import RESULTS, find_run
from experiment.trial import exemplars
from experiment.trial.exemplars import Exemplars
from experiment.trial.for_jaeger import for_jaeger
from experiment.trial.outcome import EXEMPLARS
from hops.budget.parts import budget_of_tree
from hops.conclusions.wording import plural
from hops.elements.table import Cell, Column, Table, number, words
from hops.report.exemplar_page import exemplar_page
from hops.run.documents.trial import TrialRecord
from hops.run.files import TRIALS, Trials, read_document, trial_folder
from hops.tables.of_traces.trace import trace_table
from hops.terminal.render import rendered
from hops.terminal.trace import Uncut, trace_tree
from hops.traces.otlp import read_file
from hops.traces.span import by_trace
from hops.traces.tree import Tree, grow
from mesh.description.ports import Ports, load_ports
from mesh.native.trace_store import open_trace_store
from mesh.paths import RunFolder

WATCH_S = 0.5


@dataclass(frozen=True)
class Loaded:
    """Exemplars, read and ready to be shown.

    Attributes:
        trees: Their trees, by trace id.
        stands_for: By trace id, the journeys and percentiles of a trace, such as `checkout p50`.
        chosen: The trace of each journey and percentile.
        traced: Number of journeys that were traced; 0 if it is not known.
    """

    trees: Mapping[str, Tree]
    stands_for: Mapping[str, Sequence[str]]
    chosen: Exemplars
    traced: int = 0

    @property
    def in_words(self) -> str:
        """How many of the traces these are."""
        of = f" of {plural(self.traced, 'trace')}" if self.traced else ""
        return f"{plural(len(self.trees), 'exemplar')}{of} {'is' if len(self.trees) == 1 else 'are'} loaded"


def read_exemplars(file: Path, chosen: Exemplars, traced: int = 0) -> Loaded:
    """Reads a run's exemplars.

    Args:
        file: The saved traces.
        chosen: The trace of each journey and percentile.
        traced: Number of journeys that were traced; 0 if it is not known.
    """
    spans = by_trace(read_file(file))
    stands_for: dict[str, list[str]] = {}
    for journey, of in sorted(chosen.items()):
        for percentile, trace_id in sorted(of.items()):
            stands_for.setdefault(trace_id, []).append(f"{journey} {percentile}")
    trees = {trace_id: grow(spans[trace_id]) for trace_id in stands_for}
    return Loaded(trees, stands_for, chosen, traced)


def print_exemplars(loaded: Loaded, query_url: str, console: Console, *, journey: str = "") -> None:
    """Prints where to find a run's exemplars; with a journey, also what they show.

    Args:
        loaded: The exemplars.
        query_url: URL of the Jaeger that has the traces now.
        console: Where to print.
        journey: The journey whose trees and budgets to print; empty to list all journeys.
    """
    rows: list[list[Cell]] = []
    links: list[str] = []
    trees: list[RenderableType] = []
    chosen = {journey: loaded.chosen[journey]} if journey else loaded.chosen
    for name, of in sorted(chosen.items()):
        for percentile, trace_id in sorted(of.items()):
            tree, link = loaded.trees[trace_id], f"{query_url}/trace/{trace_id}"
            trees += [f"\n{name}, {percentile}: {link}", trace_tree(tree)]
            budget = budget_of_tree(tree)
            if budget is not None:
                largest, time_ms = max(budget.parts, key=lambda part: budget.parts[part]), number(budget.total_ns / 1e6)
                rows.append([words(name), words(percentile), time_ms, words(largest)])
                links.append(f" {name:{max(map(len, chosen))}} {percentile}  {link}")
                trees.append(rendered([trace_table(f"Hop budget of {trace_id}", budget.parts, budget.crossings)]))
    columns = [Column("journey", numeric=False), Column("of", numeric=False), Column("time", "ms")]
    columns.append(Column("largest part", numeric=False))
    table = Table("exemplars", "Exemplars: the traces nearest to p50 and p99", columns, rows, heads=2)
    console.print(rendered([table]))
    console.print(f"{loaded.in_words}. Open one in a browser:")
    # A link is one word, however narrow the terminal.
    console.print("\n".join(links), soft_wrap=True)
    for part in (
        trees if journey else ["A journey's exemplars as trees with their budgets: make trace journey=checkout"]
    ):
        console.print(part, soft_wrap=isinstance(part, str | Uncut))


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
        loaded = read_exemplars(saved, chosen, int(trial["generator"].get("sampled", 0)))
        with open_trace_store(ports) as started:
            show_in_jaeger(saved, loaded, trial, folder.name, ports)
            print_exemplars(loaded, ports.url("jaeger-query-http"), console(), journey=journey)
            if started and wait:
                print("Jaeger runs until Ctrl-C.", file=sys.stderr)
                while True:
                    time.sleep(WATCH_S)


def show_in_jaeger(saved: Path, loaded: Loaded, trial: TrialRecord, run: str, ports: Ports) -> None:
    """Gives the exemplars to Jaeger, and writes the page of them that its port shows if it has no pages itself.

    Args:
        saved: The saved traces.
        loaded: The same, read.
        trial: The trial that they are of.
        run: Name of the run.
        ports: Ports of the Jaeger.

    Raises:
        JaegerError: It did not take one.
    """
    topology, stands_for = trial["topology"], loaded.stands_for
    everywhere = {"shop.topology": topology, "shop.run": run}

    def of_root(trace_id: str) -> Mapping[str, str]:
        return {"hop.exemplar": ", ".join(stands_for.get(trace_id, ())), "hop.loaded": loaded.in_words}

    exemplars.load(saved, ports.url("jaeger-otlp-http"), lambda line: for_jaeger(line, everywhere, of_root))
    page = RunFolder.of(ports.base).jaeger_page / "static" / "exemplars.html"
    if page.parent.is_dir():
        shown = {trace_id: (stands_for[trace_id], tree) for trace_id, tree in loaded.trees.items()}
        page.write_text(exemplar_page(topology, run, loaded.in_words, shown), encoding="utf-8")


def _trial_of(trials: Sequence[TrialRecord], topology: str) -> TrialRecord:
    used = [trial for trial in trials if trial["used"]]
    for trial in used:
        if topology in ("", trial["topology"]):
            return trial
    there = ", ".join(dict.fromkeys(trial["topology"] for trial in used))
    raise UsageError(f"topology={topology} is not in this run; available: {there}")
