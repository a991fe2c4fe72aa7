"""Results about sets of traces: the predicted effect of a change, which limits are kept, and how two sets differ.

Each result begins with the answer, continues with tables, and ends with notes on how to read them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hops.analysis.of_traces.limits import Checked
from hops.analysis.of_traces.sets import METRICS as METRICS_OF_SETS
from hops.analysis.of_traces.sets import Differing, Sets
from hops.analysis.of_traces.what_if import METRICS, Foreseen
from hops.conclusions.wording import clause, join_names, not_tested, plural
from hops.elements import numbers
from hops.elements.element import Element, Points, Text
from hops.elements.table import Cell, Column, Table, estimate, number, table_of, whole, words

MIN_SHARE = 0.01
"""Parts that change by less than this share of an operation's mean are only in the JSON output."""
_MAX_NAMES = 3
_DIRECTIONS = {"slower": {"slower"}, "faster": {"faster"}, "slower and faster, by figure": {"slower", "faster"}}
NO_QUEUES = (
    "The spans of every trace were laid out again, each after the spans that it waited for. Queues are not modelled: "
    "under load, a slower part also makes other requests wait, and a faster part shortens their wait. The interval of "
    "a prediction is for what a new set of equally many traces would show."
)
NO_EXPERIMENT = (
    "This is not an experiment: the two sets may also differ in load, time, machine and customers. Anything that "
    "slowed one whole set looks like a change. Intervals are over sections of each set's time. All operations "
    "and figures are corrected together, so that equal sets show a difference in at most 5 % of cases."
)
TOGETHER = (
    "A limit is broken only if the whole interval of its figure is above it. The intervals hold for all limits "
    "together."
)

ALONE = (
    "A machine that is slow for hours can break limits that the system keeps. This happens in about one set in five if "
    "each state of the machine lasts for a quarter of the set. --against BASELINE compares with traces from the same "
    "time."
)
AGAINST = "Figures that are not shown to be above the baseline's break no limit."


def what_if_elements(rows: Sequence[Foreseen]) -> list[Element]:
    """Shows the predicted effect of a change."""
    unknown = {
        f"{row.operation}: no interval for {figure.metric}, as {clause(figure.reason)}."
        for row in rows
        for figure in row.figures
        if figure.reason
    }
    return [
        Text(_foreseen(rows), tone="verdict"),
        _predictions(rows),
        *(table for row in rows if row.changed and (table := _parts(row)).rows),
        Points([_critical(row) for row in rows]),
        Points(sorted(unknown)),
        Text(NO_QUEUES, tone="note"),
    ]


def _predictions(rows: Sequence[Foreseen]) -> Table:
    columns = [Column("operation", numeric=False), Column("traces"), Column("changed", spare=1)]
    for metric in METRICS:
        columns += [Column(f"{metric}, {name}", "ms", interval=True) for name in ("measured", "predicted")]
    cells = []
    for row in rows:
        line = [words(row.operation), whole(row.traces), whole(row.changed)]
        for one in row.figures:
            line += [estimate(one.measured_ms, one.measured_ci95), estimate(one.predicted_ms, one.predicted_ci95)]
        cells.append(line)
    return Table("what_if", "Time of each root operation, measured and predicted, with 95 % intervals", columns, cells)


def _parts(row: Foreseen) -> Table:
    total = sum(ms for ms, _ in row.parts_ms.values())
    shown = [(part, *ms) for part, ms in row.parts_ms.items() if abs(ms[1] - ms[0]) >= MIN_SHARE * total]
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
    take = "takes" if row.changed == 1 else "take"
    return (
        f"{row.operation}: {row.changed:,} of {plural(row.traces, 'trace')} {take} a different time. {after} then has "
        f"the largest share of the critical path, {share}{other}."
    )


def limits_elements(rows: Sequence[Checked]) -> list[Element]:
    """Shows which limits are kept."""
    states = [row.state for row in rows]
    against = any(row.baseline_ms is not None for row in rows)
    table = table_of(
        "limits",
        "Limits, with 95 % intervals of all of them together",
        rows,
        [
            (Column("operation", numeric=False), lambda row: words(row.limit.operation)),
            (Column("part", numeric=False), lambda row: words(row.limit.part)),
            (Column("figure", numeric=False), lambda row: words(row.limit.figure)),
            (Column("verdict", numeric=False), lambda row: words(": ".join(filter(None, (row.state, row.reason))))),
            (Column("limit", "ms"), lambda row: number(row.limit.ms)),
            (Column("measured", "ms", interval=True), lambda row: estimate(row.measured_ms, row.ci95)),
            *([(Column("baseline", "ms"), lambda row: number(row.baseline_ms))] if against else []),
            (Column("traces", spare=1), lambda row: whole(row.traces)),
        ],
        heads=3,
    )
    unknown = [row.reason for row in rows if row.state == "cannot tell"]
    untested = f", {len(unknown)} {not_tested(unknown)}" if unknown else ""
    return [
        Text(f"{states.count('broken')} of {plural(len(rows), 'limit')} broken{untested}.", tone="verdict"),
        table,
        Text(TOGETHER, tone="note"),
        Text(AGAINST if against else ALONE, tone="note"),
    ]


def sets_elements(sets: Sets) -> list[Element]:
    """Shows how two sets differ."""
    table = table_of(
        "trace_sets",
        "Time of each root operation in both sets; the ratio is B over A, with its 95 % interval",
        sets.figures,
        [
            (Column("operation", numeric=False), lambda row: words(row.operation)),
            (Column("figure", numeric=False), lambda row: words(row.metric)),
            (Column("B is", numeric=False), lambda row: words(row.reason or row.verdict)),
            (Column("traces", numeric=False, spare=1), lambda row: words(" and ".join(map(numbers.count, row.traces)))),
            (Column("A", "ms"), lambda row: number(row.a_ms)),
            (Column("B", "ms"), lambda row: number(row.b_ms)),
            (Column("ratio", interval=True), lambda row: estimate(row.ratio, row.ratio_ci95)),
            (Column("p, corrected", spare=1), lambda row: Cell(numbers.chance(row.p), row.p)),
        ],
        heads=2,
    )
    shown = [row for row in sets.parts if row.shown]
    parts = table_of(
        "trace_sets_parts",
        "Parts of these operations that are shown to differ, mean over all traces or over those of the p99 band",
        shown,
        [
            (Column("operation", numeric=False), lambda row: words(row.operation)),
            (Column("part", numeric=False), lambda row: words(row.part)),
            (Column("of", numeric=False, spare=1), lambda row: words(row.band)),
            (Column("A", "ms"), lambda row: number(row.a_ms)),
            (Column("B", "ms"), lambda row: number(row.b_ms)),
            (Column("B − A", "ms", interval=True), lambda row: estimate(row.difference_ms, row.ci95, signed=True)),
        ],
        heads=2,
    )
    only = [f"Only in {side}: {', '.join(names)}." for side, names in zip(("A", "B"), sets.only, strict=True) if names]
    answer, *others = _sentences(sets)
    return [
        Text(answer, tone="verdict"),
        Points([*others, *only]),
        table,
        *([parts] if shown else []),
        Text(NO_EXPERIMENT, tone="note"),
    ]


def _sentences(sets: Sets) -> Iterator[str]:
    """Says which operations differ, in sentences; the first is the answer."""
    differing: dict[str, list[Differing]] = {}
    for row in sets.figures:
        if row.verdict in ("slower", "faster"):
            differing.setdefault(row.operation, []).append(row)
    unknown = [row.reason for row in sets.figures if row.verdict == "cannot tell"]
    if len(differing) > 1:
        yield _names(differing)
    elif not differing and len(unknown) < len(sets.figures):
        yield "No operation is shown to be slower or faster."
    for operation, rows in differing.items():
        yield _change(sets, operation, rows)
    if unknown:
        was = "was" if len(unknown) == 1 else "were"
        yield f"{len(unknown):,} of {plural(len(sets.figures), 'figure')} {was} {not_tested(unknown)}."


def _names(differing: Mapping[str, Sequence[Differing]]) -> str:
    named = []
    for how, verdicts in _DIRECTIONS.items():
        names = [name for name, rows in differing.items() if {row.verdict for row in rows} == verdicts]
        if len(names) > _MAX_NAMES:
            names = [*names[:_MAX_NAMES], plural(len(names) - _MAX_NAMES, "more operation")]
        if names:
            named.append(f"{join_names(names)} {'is' if len(names) == 1 else 'are'} {how}")
    return f"In B {'; '.join(named)}."


def _change(sets: Sets, operation: str, rows: Sequence[Differing]) -> str:
    # The parts explain the first row: the mean, or the slowest traces if only these differ.
    sign = 1 if rows[0].verdict == "slower" else -1
    every = [row for row in sets.parts if row.operation == operation]
    parts = [row for row in every if row.shown and row.difference_ms * sign > 0]
    verdicts = list(dict.fromkeys(row.verdict for row in rows))
    if parts:
        of_it = "it" if len(verdicts) == 1 else f"what makes it {rows[0].verdict}"
        whole_ms = sum(row.difference_ms for row in every) * sign  # the parts of a trace add up to its whole
        how_much = f"most of {of_it}" if 0 < whole_ms < 2 * parts[0].difference_ms * sign else "the most of any part"
        where = f"{how_much} in {parts[0].part}: {numbers.figure(parts[0].difference_ms, parts[0].ci95, 'ms')}"
    else:
        where = "no single part is shown to be"
    if len(verdicts) == 1 and len(rows) == len(METRICS_OF_SETS):
        how = f"{verdicts[0]} in B"
    else:
        how = " and ".join(
            f"{verdict} in B at {' and '.join(row.metric for row in rows if row.verdict == verdict)}"
            for verdict in verdicts
        )
    return f"{operation} is {how}; {where}."


def _foreseen(rows: Sequence[Foreseen]) -> str:
    changed = [row for row in rows if row.changed]
    if not changed:
        return "Nothing changes in any trace."
    median = next(figure for figure in changed[0].figures if figure.metric == "p50")
    more = plural(len(changed) - 1, "more operation")
    return (
        f"{changed[0].operation} would have a median of {numbers.plain(median.predicted_ms)} ms instead of "
        f"{numbers.plain(median.measured_ms)} ms{f'; {more} would change' if len(changed) > 1 else ''}."
    )
