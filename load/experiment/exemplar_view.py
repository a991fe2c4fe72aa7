"""Exemplars for a terminal: where to open each in Jaeger, and as a tree with its own budget."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from experiment.exemplars import Exemplars
from hops.budget import budget_of_tree
from hops.otlp import read_file
from hops.render import milliseconds, one_budget_table
from hops.span import Span
from hops.trace_view import trace_tree
from hops.tree import grow


def print_exemplars(file: Path, chosen: Exemplars, query_url: str, console: Console, *, journey: str = "") -> None:
    """Prints where to find a run's exemplars; with a journey, also what they show.

    Args:
        file: The saved traces.
        chosen: Which trace stands for what.
        query_url: Of the Jaeger that has them now.
        console: Where to print.
        journey: Whose trees and budgets to print; empty for none.
    """
    traces: dict[str, list[Span]] = {}
    for span in read_file(file):
        traces.setdefault(span.trace_id, []).append(span)
    table = Table(title="Exemplars: the traces nearest to p50 and p99", title_justify="left", box=None, pad_edge=False)
    for name in ("journey", "of", "ms", "largest part", "trace"):
        table.add_column(name, justify="right" if name == "ms" else "left", no_wrap=name != "trace", overflow="fold")
    for name, of in sorted(chosen.items()):
        if journey and name != journey:
            continue
        for percentile, trace_id in sorted(of.items()):
            budget = budget_of_tree(grow(traces[trace_id]))
            if budget is not None:
                largest = max(budget.parts.items(), key=lambda item: item[1])[0]
                table.add_row(name, percentile, milliseconds(budget.total_ns / 1e6), largest, trace_id)
    console.print(table)
    console.print(f"\nJaeger's UI: {query_url}/trace/TRACE   (needs a Jaeger with its UI: set JAEGER_BIN)")
    console.print(f"Jaeger's API: {query_url}/api/v3/traces/TRACE")
    if not journey:
        console.print("A journey's exemplars as trees with their budgets: make trace journey=checkout")
        return
    for percentile, trace_id in sorted(chosen[journey].items()):
        tree = grow(traces[trace_id])
        budget = budget_of_tree(tree)
        console.print(f"\n{journey}, {percentile}: {trace_id}")
        console.print(trace_tree(tree))
        if budget is not None:
            console.print(one_budget_table(f"Hop budget of {trace_id}", budget.parts, budget.crossings))
