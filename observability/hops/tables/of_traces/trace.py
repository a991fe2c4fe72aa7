"""The hop budget of one trace; separate from the budgets of a run, whose figures need numpy and polars."""

from __future__ import annotations

from collections.abc import Mapping

from hops.budget.parts import Budget
from hops.elements.element import Text
from hops.elements.table import Cell, Column, Table, words


def trace_table(title: str, parts_ns: Mapping[str, int], crossings: Mapping[str, int]) -> Table:
    """Lists the hop budget of one trace to the nanosecond, largest part first, and how often each part was entered."""
    total = sum(parts_ns.values())
    names = sorted({*parts_ns, *crossings}, key=lambda part: (-parts_ns.get(part, 0), part))
    rows = [
        [
            words(part),
            Cell(_exact(ns := parts_ns.get(part, 0)), ns / 1e6, share=ns / total if total else 0.0),
            Cell(str(crossings.get(part, 0)), crossings.get(part, 0)),
        ]
        for part in names
    ]
    rows.append([words("adds up to"), Cell(_exact(total), total / 1e6), Cell("")])
    columns = [Column("part", numeric=False), Column("time", "ms"), Column("crossings")]
    return Table("trace_budget", title, columns, rows, totals=1)


def after_text(one: Budget) -> Text:
    """Describes how much of a trace's time belongs to no part; empty if all of it belongs to a part."""
    if not one.after_ns:
        return Text("")
    return Text(f"{_exact(one.after_ns)} ms of the trace lie after the end of its root, in no part.")


def _exact(ns: int) -> str:
    return f"{ns / 1e6:.6f}"
