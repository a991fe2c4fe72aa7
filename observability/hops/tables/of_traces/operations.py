"""Tables of the root operations in any system's traces."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hops.analysis.of_traces.operations import Operation
from hops.budget.bands import BANDS
from hops.budget.parts import UNATTRIBUTED
from hops.conclusions.wording import plural
from hops.elements import numbers
from hops.elements.element import Text
from hops.elements.table import Cell, Column, Table, number, slug, table_of, whole, words
from hops.tables.budget import MEAN, BudgetColumn, band_name, budgets_table, share_of
from hops.units import NS_PER_MS

MAX_OF_TAIL = 5
MIN_SHARE = 0.005
"""Parts with a smaller share in every band share a row."""


def answer_of(operations: Sequence[Operation]) -> str:
    """Says which root operation takes the most time, and in which part; empty if there are no operations."""
    if not operations:
        return ""
    first = operations[0]
    most = f" the most time of {plural(len(operations), 'root operation')}:" if len(operations) > 1 else ""
    often = " on average" if first.traces > 1 else ""
    text = f"{first.name} takes{most} {numbers.plain(first.total_ns / first.traces / NS_PER_MS)} ms{often}"
    for part, ns in list(first.parts_ns.items())[:1]:
        text += f", {numbers.plain(ns / first.traces / NS_PER_MS)} ms of it in {part}"
    return f"{text}."


def operations_table(operations: Sequence[Operation]) -> Table:
    """Makes a table with a row per root operation."""
    columns: list[tuple[Column, Callable[[Operation], Cell]]] = [
        (Column("operation", numeric=False), lambda one: words(one.name)),
        (Column("traces"), lambda one: whole(one.traces)),
        (Column("mean", "ms"), lambda one: number(one.latency_ms["mean"])),
        (Column("p50", "ms"), lambda one: number(one.latency_ms["p50"])),
        (Column("p99", "ms"), lambda one: number(one.latency_ms["p99"])),
        (Column("longest part of the mean", numeric=False), lambda one: words(next(iter(one.parts_ns), "–"))),
    ]
    if any(one.after_ms for one in operations):
        columns.append((Column("after the root's end, mean", "ms"), lambda one: number(one.after_ms)))
    return table_of("operations", "Root operations, those with the most time together first", operations, columns)


def operation_parts_table(operation: Operation) -> Table:
    """Lists every part of an operation's budgets, largest first, with a column per band."""
    budgets, traces = operation.budget_ms, operation.traces
    mean = budgets[MEAN]
    parts = sorted({part for band in BANDS for part in budgets[band]}, key=lambda part: (-mean.get(part, 0.0), part))
    shares = {part: max(share_of(part, budget) for budget in budgets.values()) for part in parts}
    small = [part for part in parts if part != UNATTRIBUTED and shares[part] < MIN_SHARE]
    columns = [BudgetColumn(Column(band_name(band, traces), "ms"), budgets[band], bars=band == MEAN) for band in BANDS]
    caption = f"Hop budgets of {operation.name}, {plural(traces, 'trace')}, ms"
    return budgets_table(f"parts_{slug(operation.name)}", caption, parts, small, columns)


def tail_text(operation: Operation) -> Text:
    """Describes which parts make the slow traces slow."""
    middle, slow = (sum(operation.budget_ms[band].values()) for band in ("p50_band", "p99_band"))
    grown = [f"{part} {numbers.plain(ms, signed=True)} ms" for part, ms in operation.tail[:MAX_OF_TAIL]]
    band = band_name("p99_band", operation.traces)
    if operation.traces < 2 or slow <= middle:
        return Text("")
    return Text(
        f"The tail: the {band} takes {numbers.plain(slow)} ms and the p50 band {numbers.plain(middle)} ms. "
        f"The parts that grow most: {', '.join(grown)}."
    )
