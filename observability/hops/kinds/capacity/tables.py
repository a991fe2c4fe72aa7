"""The first section of the report of a capacity run: results, peaks, steps."""

from __future__ import annotations

from hops.analysis.cost import GENERATOR_GROUP, TOTAL
from hops.elements import numbers
from hops.elements.compared import Compared
from hops.elements.element import Element, Heading, Points, Section, Text
from hops.elements.table import Cell, Column, Table, estimate, number, whole, words
from hops.kinds.capacity.conclusions import sentences
from hops.kinds.capacity.document import (
    Capacity,
    Step,
    by_load,
    capacity_of,
    find_claimed,
    find_confirmed,
    may_hold_more,
)
from hops.run.documents.estimate import Estimate
from hops.statistics.over_blocks import NO_INTERVAL
from hops.tables.view import SummaryView

_ONE_MACHINE = (
    "One machine carries the generator, the {noun.system}, its database and its telemetry: the figures compare "
    "{noun.many} on it, and say nothing about a cluster (docs/experiments/capacity.md)."
)
LIMITS = {
    "shop": "the system",
    "generator": "the generator",
    "max_rate": "the highest rate allowed",
    "unknown": "not found",
}
_LATENCY = (Column("p50", "ms"), Column("p99", "ms", interval=True))


def section(view: SummaryView) -> Section:
    """Shows the results, in a sentence for each topology and as a table, and every step."""
    capacity = capacity_of(view.summary)
    load = capacity["asked"]["load"]
    table = {"sweep": _results_table, "overload": _peaks_table}.get(load)
    elements: list[Element] = [
        Points(sentences(capacity), tone="conclusions"),
        *([table(capacity, view.compared)] if table else []),
        Heading("Steps"),
        steps_table(capacity, view.compared),
        Text(_ONE_MACHINE.format(noun=view.compared), tone="note"),
    ]
    return Section(load, f"What {view.compared.many} hold" if load == "sweep" else "What is left under load", elements)


def _results_table(capacity: Capacity, compared: Compared) -> Table:
    blocks = capacity["asked"].get("blocks", 1)
    columns = [Column(compared.one, numeric=False), Column("held", "journeys/s", interval=blocks > 1), *_LATENCY]
    columns += [Column("fails at", "journeys/s"), Column(compared.system, "cores"), Column("generator", "cores")]
    columns.append(Column("limit", numeric=False))
    rows: list[list[Cell]] = []
    for index, name in enumerate(capacity["results"]):
        result, step = capacity["results"][name], find_confirmed(capacity, name)
        head = words(name, f"mark t{index % 8}")
        if step is None:
            rows.append([head, Cell("none confirmed"), *(number(None) for _ in range(5)), words("")])
            continue
        least = "at least " if may_hold_more(result) else ""
        held = result.get("held") or Estimate(value=result["rate"] or 0.0, ci95=list(NO_INTERVAL))
        rows.append(
            [
                head,
                Cell(f"{least}{numbers.plain(held['value'])}", held["value"], (held["ci95"][0], held["ci95"][1])),
                *_latency(step),
                number(result["failed"]),
                number(step["cores"][TOTAL]),
                number(step["cores"][GENERATOR_GROUP]),
                words(LIMITS[result["limit"]]),
            ]
        )
    objective = capacity["asked"]["objective_ms"]
    which = "Highest rate held" if blocks == 1 else "Highest rate held, the geometric mean over blocks,"
    whose = "that step's figures" if blocks == 1 else "the figures of the step with the lowest of these rates"
    caption = f"{which} with p99 below {objective:,g} ms and failures below 0.1 %, with {whose}"
    return Table("capacity", caption, columns, rows)


def _peaks_table(capacity: Capacity, compared: Compared) -> Table:
    columns = [Column(compared.one, numeric=False), Column("peak", "times what it holds")]
    columns += [Column("offered", "journeys/s"), Column("ended ok", "1/s"), Column("goodput", "% of what it holds")]
    columns += [*_LATENCY, Column("failed"), Column("recovers after", "s")]
    rows: list[list[Cell]] = []
    for index, name in enumerate(capacity["results"]):
        held = capacity["results"][name]["rate"]
        for step in find_claimed(capacity, name):
            rate = step["rate"] or 0.0
            rows.append(
                [
                    words(name, f"mark t{index % 8}"),
                    number(None if held is None else rate / held),
                    number(rate),
                    number(step["throughput_per_s"]),
                    number(None if held is None else 100 * step["throughput_per_s"] / min(rate, held)),
                    *_latency(step),
                    whole(sum(step["errors"].values())),
                    Cell("not in time") if step["recovery_s"] is None else number(step["recovery_s"]),
                ]
            )
    caption = (
        "Each peak: journeys that ended ok while it lasted, their latencies, and how many failed. It has recovered "
        "once 90 % of each second's journeys end ok within the objective, at half of what it holds"
    )
    return Table("peaks", caption, columns, rows, heads=2)


def steps_table(capacity: Capacity, compared: Compared) -> Table:
    """Lists every step, by rising load."""
    closed = capacity["asked"]["load"] == "stress"
    columns = [Column(compared.one, numeric=False)]
    columns += [Column("users")] if closed else [Column("rate", "journeys/s"), Column("step", numeric=False)]
    columns += [Column("verdict", numeric=False), Column("sent"), Column("ended ok", "1/s"), *_LATENCY]
    columns += [Column(name, spare=0 if closed else 1) for name in ("client", "server", "timeout", "wrong answer")]
    columns += [Column("connections", spare=4), Column("most under way", spare=4)]
    columns += [Column("start lag p99", "ms", spare=4), Column(compared.system, "cores")]
    columns += [Column(f"of which {group}", "cores", spare=3) for group in ("database", "telemetry")]
    columns += [Column("generator", "cores"), Column("memory", "MiB", spare=3)]
    rows = [
        [
            words(name, f"mark t{index % 8}"),
            number(step["rate"]) if step["users"] is None else whole(step["users"]),
            *([] if closed else [words(step["phase"])]),
            words("; ".join([*mark(step), *step["reasons"]])),
            whole(step["journeys"]),
            number(step["throughput_per_s"]),
            *_latency(step),
            *(whole(count) for count in step["errors"].values()),
            whole(step["connections"]),
            whole(step["under_way_most"]),
            number(step["start_lag_p99_ms"]),
            *(number(step["cores"].get(group)) for group in (TOTAL, "database", "telemetry", GENERATOR_GROUP)),
            number(step["memory_peak_mb"]),
        ]
        for index, name in enumerate(capacity["results"])
        for step in by_load(capacity, name)
    ]
    loop = f"closed loop, mean think time {capacity['asked']['think_s']:g} s" if closed else "open loop"
    caption = f"Every step, by rising load ({loop}); the classes of failures are counts of journeys"
    return Table("steps", caption, columns, rows, heads=2)


def mark(step: Step) -> list[str]:
    """Describes whether a step held, and whether the generator was at its limit."""
    verdict = {True: ["holds"], False: ["misses"], None: []}[step["holds"]]
    return [*verdict, "GENERATOR"] if step["limits"] else verdict


def _latency(step: Step) -> list[Cell]:
    return [number(step["latency_ms"]["p50"]), estimate(step["latency_ms"]["p99"], step["latency_ci95"]["p99"])]
