"""`trace`: shows a run's exemplars: their addresses in Jaeger, and the exemplars as trees with their budgets."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console, RenderableType

from experiment.arguments import choice
from experiment.commands.options import console, reported_errors
from experiment.errors import UsageError
from experiment.results.folder import RESULTS, find_run
from experiment.trial import exemplars
from experiment.trial.exemplars import Exemplars
from experiment.trial.for_jaeger import for_jaeger
from experiment.trial.outcome import EXEMPLARS
from hops.budget.any_system import tree_of
from hops.budget.parts import budget_of_tree
from hops.conclusions.wording import plural
from hops.elements.table import Cell, Column, Table, number, words
from hops.report.exemplar_page import exemplar_page
from hops.run.documents.manifest import Manifest
from hops.run.files import MANIFEST, TRIALS, Trials, read_document, trial_folder
from hops.sources.files import read_file
from hops.tables.of_traces.trace import trace_table
from hops.terminal.render import render
from hops.terminal.trace import Uncut, trace_tree
from hops.traces.span import by_trace
from hops.traces.tree import Tree
from mesh.description.options import takes_settings
from mesh.description.ports import Ports, load_ports
from mesh.native.trace_store import open_trace_store
from mesh.paths import RunFolder

WATCH_S = 0.5


@dataclass(frozen=True)
class Loaded:
    """Exemplars that are read and ready to print.

    Attributes:
        trees: The exemplars' trees, by trace id.
        stands_for: Journeys and percentiles that each trace represents, such as `checkout p50`, by trace id.
        chosen: The trace of each journey and percentile.
        traced: Number of traced journeys; 0 if unknown.
    """

    trees: Mapping[str, Tree]
    stands_for: Mapping[str, Sequence[str]]
    chosen: Exemplars
    file: Path
    traced: int = 0

    @property
    def in_words(self) -> str:
        """A sentence that says how many exemplars are loaded, of how many traces."""
        of = f" of {plural(self.traced, 'trace')}" if self.traced else ""
        return f"{plural(len(self.trees), 'exemplar')}{of} {'is' if len(self.trees) == 1 else 'are'} loaded"


def read_exemplars(file: Path, chosen: Exemplars, traced: int = 0) -> Loaded:
    """Reads a run's exemplars."""
    with file.open("rb") as lines:
        spans = by_trace(span for _, batch in read_file(lines, str(file)) for span in batch)
    stands_for: dict[str, list[str]] = {}
    for journey, of in sorted(chosen.items()):
        for percentile, trace_id in sorted(of.items()):
            stands_for.setdefault(trace_id, []).append(f"{journey} {percentile}")
    trees = {trace_id: tree_of(spans[trace_id]) for trace_id in stands_for}
    return Loaded(trees, stands_for, chosen, file, traced)


def print_exemplars(loaded: Loaded, query_url: str, console: Console, *, journey: str = "") -> None:
    """Prints where to find a run's exemplars; if a journey is given, also prints its exemplars' trees and budgets.

    Args:
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
                trees.append(render([trace_table(f"Hop budget of {trace_id}", budget.parts, budget.crossings)]))
    columns = [Column("journey", numeric=False), Column("of", numeric=False), Column("time", "ms")]
    columns.append(Column("largest part", numeric=False))
    table = Table("exemplars", "Exemplars: the traces nearest to p50 and p99", columns, rows, heads=2)
    console.print(render([table]))
    console.print(f"{loaded.in_words}. Open one in a browser:")
    # A link must stay on one line, however narrow the terminal is.
    console.print("\n".join(links), soft_wrap=True)
    for part in (
        trees if journey else ["A journey's exemplars as trees with their budgets: make trace journey=checkout"]
    ):
        console.print(part, soft_wrap=isinstance(part, str | Uncut))


@takes_settings("trace")
def trace_command(*, run: str, journey: str, topology: str, wait: str) -> None:
    with reported_errors():
        stays = choice("wait", wait, ("yes", "no")) == "yes"
        folder = find_run(RESULTS, run)
        shown = _by_topology(folder)
        if not shown:
            raise UsageError(f"run={run} traced no journeys; measure with trace=0.2")
        topology = topology or next(iter(shown))
        if topology not in shown:
            raise UsageError(f"topology={topology} has no exemplars in this run; available: {', '.join(shown)}")
        chosen = shown[topology].chosen
        if journey and journey not in chosen:
            raise UsageError(f"journey={journey} has no exemplar in this run; available: {', '.join(sorted(chosen))}")
        ports = load_ports(os.environ)
        with open_trace_store(ports) as started:
            page = show_in_jaeger(shown, folder.name, ports)
            out = console()
            others = [name for name in shown if name != topology]
            if others:
                out.print(f"Exemplars of {topology}. For {' or '.join(others)}: make trace topology={others[0]}")
            print_exemplars(shown[topology], ports.url("jaeger-query-http"), out, journey=journey)
            out.print(f"All exemplars{' side by side' if others else ''}: {page}", soft_wrap=True)
            if started and stays:
                print("Jaeger keeps running until you press Ctrl-C.", file=sys.stderr)
                while True:
                    time.sleep(WATCH_S)


def show_in_jaeger(shown: Mapping[str, Loaded], run: str, ports: Ports) -> str:
    """Sends the exemplars to Jaeger, and writes a page that lists them.

    Returns:
        The page's URL: at Jaeger's port if Jaeger has no UI, otherwise the URL of the file.

    Raises:
        JaegerError: Jaeger did not accept an exemplar.
    """
    for topology, loaded in shown.items():
        copied = partial(_copy_for_people, loaded=loaded, everywhere={"shop.topology": topology, "shop.run": run})
        exemplars.load(loaded.file, ports.url("jaeger-otlp-http"), copied)
    folder = RunFolder.of(ports.base)
    served = folder.jaeger_page / "static"
    has_ui = not served.is_dir()
    page = (folder.path if has_ui else served) / "exemplars.html"
    traces = {
        topology: {trace_id: (loaded.stands_for[trace_id], tree) for trace_id, tree in loaded.trees.items()}
        for topology, loaded in shown.items()
    }
    summary = "; ".join(f"{topology}: {loaded.in_words}" for topology, loaded in shown.items())
    page.write_text(exemplar_page(run, summary, traces), encoding="utf-8")
    return page.as_uri() if has_ui else f"{ports.url('jaeger-query-http')}/static/{page.name}"


def _copy_for_people(line: bytes, loaded: Loaded, everywhere: Mapping[str, str]) -> bytes:
    def of_root(trace_id: str) -> Mapping[str, str]:
        return {"hop.exemplar": ", ".join(loaded.stands_for.get(trace_id, ())), "hop.loaded": loaded.in_words}

    return for_jaeger(line, everywhere, of_root)


def _by_topology(folder: Path) -> dict[str, Loaded]:
    """Reads the exemplars of each topology's first trial with traces, in the run's order of topologies."""
    shown: dict[str, Loaded] = {}
    used = [trial for trial in read_document(folder / TRIALS, form=Trials)["trials"] if trial["used"]]
    for topology in read_document(folder / MANIFEST, form=Manifest)["topologies"]:
        for trial in used:
            if trial["topology"] == topology and trial["exemplars"]:
                saved = folder / trial_folder(topology, trial["block"]) / EXEMPLARS
                sampled = int(trial["generator"].get("sampled", 0))
                shown[topology] = read_exemplars(saved, trial["exemplars"], sampled)
                break
    return shown
