"""What is said of sets of traces: what a change would make of them, which limits they keep, and how two sets differ."""

from __future__ import annotations

from collections.abc import Sequence

from hops.analysis.what_if import METRICS, Foreseen
from hops.conclusions.wording import clause, plural
from hops.elements import numbers
from hops.elements.element import Element, Points, Text
from hops.elements.table import Column, Table, estimate, number, table_of, whole, words

LEAST_SHARE = 0.01
"""Parts that change by less than this share of an operation's mean are left to the JSON."""
NO_QUEUES = (
    "Every trace was laid out anew along what waited for what. Queues are not modelled: under load, a part that gets "
    "slower makes others wait as well, and one that gets faster spares them that. An interval of a prediction is that "
    "of what as many traces would show."
)


def what_if_elements(rows: Sequence[Foreseen]) -> list[Element]:
    """What is predicted, for people."""
    unknown = {
        f"{row.operation}: no interval for {figure.metric}, as {clause(figure.reason)}."
        for row in rows
        for figure in row.figures
        if figure.reason
    }
    return [
        _predictions(rows),
        *(_parts(row) for row in rows if row.changed),
        Points([_critical(row) for row in rows]),
        Points(sorted(unknown)),
        Text(NO_QUEUES),
    ]


def _predictions(rows: Sequence[Foreseen]) -> Table:
    columns = [Column("operation", numeric=False), Column("traces"), Column("changed", spare=1)]
    for metric in METRICS:
        columns += [
            Column(f"{metric}, measured", "ms", interval=True),
            Column(f"{metric}, predicted", "ms", interval=True),
        ]
    cells = [
        [words(row.operation), whole(row.traces), whole(row.changed)]
        + [
            cell
            for one in row.figures
            for cell in (
                estimate(one.measured_ms, one.measured_ci95),
                estimate(one.predicted_ms, one.predicted_ci95),
            )
        ]
        for row in rows
    ]
    return Table("what_if", "Time of each root operation, measured and predicted, with 95 % intervals", columns, cells)


def _parts(row: Foreseen) -> Table:
    total = sum(ms for ms, _ in row.parts_ms.values())
    shown = [(part, *ms) for part, ms in row.parts_ms.items() if abs(ms[1] - ms[0]) >= LEAST_SHARE * total]
    return table_of(
        "what_if_parts",
        f"{row.operation}: parts that have more or less of the critical path then, mean",
        shown,
        [
            (Column("part", numeric=False), lambda one: words(one[0])),
            (Column("measured", "ms"), lambda one: number(one[1])),
            (Column("predicted", "ms"), lambda one: number(one[2])),
            (Column("change", "ms"), lambda one: number(one[2] - one[1], signed=True)),
        ],
    )


def _critical(row: Foreseen) -> str:
    if not row.changed:
        return f"{row.operation}: nothing changes in any trace."
    before, after = row.critical
    total = sum(ms for _, ms in row.parts_ms.values())
    share = numbers.share(row.parts_ms[after][1] / total if total else 0.0)
    other = f"; it was {before} before" if before != after else ", as before"
    return (
        f"{row.operation}: {row.changed:,} of {plural(row.traces, 'trace')} take another time. {after} then has most "
        f"of the critical path, {share}{other}."
    )
