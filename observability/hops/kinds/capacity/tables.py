"""The tables of a sweep or a stress test, and whether to trust them."""

from __future__ import annotations

from hops.elements import numbers
from hops.elements.element import Element, Points, Text
from hops.elements.table import Cell, Column, Table, estimate, number, whole, words
from hops.gates.experiment import worst_of
from hops.kinds.capacity.conclusions import doubts, generator_sentence, sentences
from hops.kinds.capacity.document import (
    Document,
    Step,
    by_load,
    claimed,
    confirmed,
    cores,
    gate_value,
    generator_limits,
    topologies,
)
from hops.tables.validity import gate_elements

TRUSTED = "VALID: the figures may be trusted."
LIMITS = {
    "shop": "the shop",
    "generator": "the generator",
    "max_rate": "the highest rate allowed",
    "unknown": "not found",
}


def result_elements(document: Document) -> list[Element]:
    """What was found, in a sentence for each topology, and of a sweep as a table."""
    tables = {"sweep": _results_table, "overload": _peaks_table}
    table = tables.get(document["kind"])
    return [Points(sentences(document)), *([table(document)] if table else [])]


def trust_elements(document: Document) -> list[Element]:
    """Whether to trust the figures, and the gates of the steps that the results rest on."""
    reasons = [f"{doubt.verdict}: {doubt.text}" for doubt in doubts(document)]
    generator = generator_sentence(document)
    steps = [step for name in topologies(document) for step in claimed(document, name)]
    return [
        Points(reasons) if reasons else Text(TRUSTED, tone="verdict"),
        *([Text(generator)] if generator else []),
        *(gate_elements(worst_of(steps), len(steps), "step") if steps else []),
    ]


def _results_table(document: Document) -> Table:
    columns = [
        Column("topology", numeric=False),
        Column("held", "journeys/s"),
        Column("p50", "ms"),
        Column("p99", "ms", interval=True),
        Column("fails at", "journeys/s"),
        Column("shop", "cores"),
        Column("generator", "cores"),
        Column("limit", numeric=False),
    ]
    rows: list[list[Cell]] = []
    for index, name in enumerate(topologies(document)):
        result, step = document["results"].get(name), confirmed(document, name)
        head = words(name, f"mark t{index % 8}")
        if result is None or step is None:
            rows.append([head, Cell("none confirmed"), *(number(None) for _ in range(5)), words("")])
            continue
        least = "" if result["limit"] == "shop" else "at least "
        rows.append(
            [
                head,
                Cell(f"{least}{numbers.plain(result['rate'])}", result["rate"]),
                *_latency(step),
                number(result["failed"]),
                number(cores(step, "total")),
                number(cores(step, "generator")),
                words(LIMITS[result["limit"]]),
            ]
        )
    objective = document["options"]["objective_ms"]
    caption = f"Highest rate held with p99 below {objective:g} ms and failures below 0.1 %, with that step's figures"
    return Table("capacity", caption, columns, rows)


def _peaks_table(document: Document) -> Table:
    columns = [
        Column("topology", numeric=False),
        Column("peak", "times what it holds"),
        Column("offered", "journeys/s"),
        Column("ended ok", "1/s"),
        Column("goodput", "% of what it holds"),
        Column("p50", "ms"),
        Column("p99", "ms", interval=True),
        Column("failed"),
        Column("recovers after", "s"),
    ]
    rows: list[list[Cell]] = []
    for index, name in enumerate(topologies(document)):
        result = document["results"].get(name)
        held = None if result is None else result["rate"]
        for step in claimed(document, name):
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
        "Each peak: journeys that ended ok while it lasted, their latencies, and how many failed. A topology has "
        "recovered once 90 % of each second's journeys end ok within the objective, at half of what it holds"
    )
    return Table("peaks", caption, columns, rows, heads=2)


def steps_table(document: Document) -> Table:
    """Every step, by rising load."""
    closed = document["kind"] == "stress"
    columns = [
        Column("topology", numeric=False),
        _load_column(document),
        *([] if closed else [Column("step", numeric=False)]),
        Column("verdict", numeric=False),
        Column("sent"),
        Column("ended ok", "1/s"),
        Column("p50", "ms"),
        Column("p99", "ms", interval=True),
        *(Column(name, spare=0 if closed else 1) for name in ("client", "server", "timeout", "wrong answer")),
        Column("connections", spare=4),
        Column("most under way", spare=4),
        Column("start lag p99", "ms", spare=4),
        Column("shop", "cores"),
        Column("of it database", "cores", spare=3),
        Column("of it telemetry", "cores", spare=3),
        Column("generator", "cores"),
        Column("memory", "MiB", spare=3),
    ]
    rows = [
        [
            words(name, f"mark t{index % 8}"),
            _load(step),
            *([] if closed else [words(step["phase"])]),
            words("; ".join([*mark(step), *step["reasons"]])),
            whole(step["generator"]["journeys"]),
            number(step["throughput_per_s"]),
            *_latency(step),
            *(whole(count) for count in step["errors"].values()),
            whole(step["generator"]["connections"]),
            whole(step["under_way_most"]),
            number(gate_value(step, "start_lag_p99_ms")),
            *(number(cores(step, group)) for group in ("total", "database", "telemetry", "generator")),
            number(step["memory_peak_mb"]),
        ]
        for index, name in enumerate(topologies(document))
        for step in by_load(document, name)
    ]
    loop = f"closed loop, think time {document['options']['think_s']:g} s" if closed else "open loop"
    caption = f"Every step, by rising load ({loop}); the classes of failures are counts of journeys"
    return Table("steps", caption, columns, rows, heads=2)


def messages_table(document: Document) -> Table:
    """The errors in words."""
    rows = [
        [words(name), _load(step), whole(count), words(message)]
        for name in topologies(document)
        for step in by_load(document, name)
        for message, count in step["messages"].items()
    ]
    columns = [Column("topology", numeric=False), _load_column(document), Column("journeys")]
    caption = "The most frequent errors of each step and class, as the client saw them"
    return Table("errors", caption, [*columns, Column("error", numeric=False)], rows, heads=2)


def mark(step: Step) -> list[str]:
    """Whether a step held, and whether the generator was at its limit."""
    verdict = {True: ["holds"], False: ["misses"], None: []}[step["holds"]]
    return [*verdict, "GENERATOR"] if generator_limits(step) else verdict


def _latency(step: Step) -> list[Cell]:
    return [number(step["latency_ms"]["p50"]), estimate(step["latency_ms"]["p99"], step["latency_ci95"]["p99"])]


def _load(step: Step) -> Cell:
    return number(step["rate"]) if step["users"] is None else whole(step["users"])


def _load_column(document: Document) -> Column:
    return Column("users") if document["kind"] == "stress" else Column("rate", "journeys/s")
