"""The report of a sweep or a stress test, by the elements and the page of a run's, and what a terminal shows of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from rich.console import Group

from experiment.capacity.charts import figures
from experiment.capacity.document import Document, by_load, claimed, confirmed, suspect_reasons, topologies
from experiment.capacity.step import Step, cores, gate_value, generator_limits, load_of
from hops.elements import numbers
from hops.elements.element import Element, Points, Section, Text
from hops.elements.table import Cell, Column, Table, estimate, number, whole, words
from hops.gates.experiment import worst_of
from hops.gates.limits import gate_name, kind_of
from hops.report import chart
from hops.report.facts import machine_facts
from hops.report.write import write_sections
from hops.run.switches import switches_text
from hops.tables.validity import gate_elements
from hops.terminal.render import rendered

LIMITS = {
    "shop": "the shop",
    "generator": "the generator",
    "max_rate": "the highest rate allowed",
    "unknown": "not found",
}
ABOVE = {
    "shop": "{failed:g} failed",
    "generator": "at {failed:g} the generator could not keep up, so the shop's limit may be higher",
    "max_rate": "no higher rate was allowed",
    "unknown": "the search ended before a rate failed",
}
"""What stands above the rate that was confirmed, by the limit."""
CURVE_CELLS = 44
CURVE_FROM_MS = 1.0
"""Left end of the curve's logarithmic scale, ms."""


def write_report(document: Document, folder: Path) -> tuple[Path, bool]:
    """Writes the report into the folder of the results, each file whole or not at all.

    Returns:
        The page, and whether the figures may be trusted.

    Raises:
        OSError: The disk is full, or the folder cannot be written.
    """
    chart.restart_ids()
    names = ", ".join(topologies(document))
    valid = document["complete"] and not any(suspects(document).values())
    page = write_sections(
        [*_claims(document), Section("curves", "Curves", [figures(document)]), _steps(document), _setup(document)],
        folder,
        template="capacity.html",
        title=f"{'Capacity' if document['kind'] == 'sweep' else 'Stress'} of {names}: {document['name']}",
        lines=["VALID" if valid else "SUSPECT"],
        valid=valid,
        name=document["name"],
        kind=document["kind"],
        topologies=" · ".join(topologies(document)),
    )
    return page, valid


def capacity_view(document: Document) -> Group:
    """What a terminal shows: the results, whether to trust them, every step, and the curves."""
    curves = [Text(curve(document, name)) for name in topologies(document)]
    results, trust = _claims(document)
    return rendered([*results.elements, steps_table(document), *curves, *trust.elements])


def suspects(document: Document) -> Mapping[str, list[str]]:
    """Why the figures of each topology must not be trusted; an empty list if they are sound."""
    return {name: suspect_reasons(document, name) for name in topologies(document)}


def sentences(document: Document) -> list[str]:
    """The results, a sentence for each topology."""
    texts = []
    for name in topologies(document):
        result = document["results"].get(name)
        if result is None:
            texts.append(f"{name}: not finished.")
        elif result["stopped"]:
            texts.append(f"{name} ended early: {result['stopped']}.")
        else:
            texts.append((_capacity if document["kind"] == "sweep" else _most)(document, name))
    return texts


def _capacity(document: Document, name: str) -> str:
    objective, step, result = document["options"]["objective_ms"], confirmed(document, name), document["results"][name]
    if step is None:
        tried = ", ".join(f"{rate:g}" for rate in result["tried"]) or "none"
        return f"{name}: no rate was confirmed (tried: {tried})."
    at_least = "" if result["limit"] == "shop" else "at least "
    p99 = numbers.figure(step["latency_ms"]["p99"] or 0.0, step["latency_ci95"]["p99"], "ms")
    return (
        f"{name} holds {at_least}{result['rate']:g} journeys a second with p99 under {objective:g} ms: p99 was {p99} "
        f"over {step['generator']['journeys']:,} journeys; "
        f"{ABOVE[result['limit']].format(failed=result['failed'])}."
    )


def _most(document: Document, name: str) -> str:
    steps = by_load(document, name)
    best = max(steps, key=lambda step: step["throughput_per_s"])
    first = next(
        (
            step
            for step in steps
            if sum(step["errors"].values()) >= kind_of("failure_share").limit * step["generator"]["journeys"] > 0
        ),
        None,
    )
    fails = (
        "no step had 0.1 % failures or more" if first is None else f"failures reach 0.1 % at {first['users']:,} users"
    )
    return (
        f"{name} answers at most {numbers.plain(best['throughput_per_s'])} journeys a second, at {best['users']:,} "
        f"users; {fails}."
    )


def _claims(document: Document) -> tuple[Section, Section]:
    results: list[Element] = [Points(sentences(document))]
    if document["kind"] == "sweep":
        results.append(_results_table(document))
    reasons = [f"SUSPECT: {name}: {'; '.join(why)}" for name, why in suspects(document).items() if why]
    if not document["complete"]:
        reasons.insert(0, "SUSPECT: the run was interrupted; what is here is what it had finished")
    trust: list[Element] = [Points(reasons) if reasons else Text("VALID: the figures may be trusted.", tone="verdict")]
    limited = [step for step in document["steps"] if generator_limits(step)]
    if limited:
        gates = sorted({gate_name(gate) for step in limited for gate in generator_limits(step)})
        count = f"{len(limited)} step{'s' if len(limited) > 1 else ''}"
        told = f"GENERATOR: in {count} the generator could not keep up ({'; '.join(gates)})."
        trust.append(Text(f"{told} That makes no figure SUSPECT; see docs/capacity.md."))
    steps = [step for name in topologies(document) for step in claimed(document, name)]
    if steps:
        trust += gate_elements(worst_of(steps), len(steps))
    return Section("results", "Results", results), Section("validity", "Can it be trusted?", trust)


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
    caption = f"Highest rate held with p99 under {objective:g} ms and failures under 0.1 %, with that step's figures"
    return Table("capacity", caption, columns, rows)


def _steps(document: Document) -> Section:
    elements: list[Element] = [steps_table(document)]
    if any(step["messages"] for step in document["steps"]):
        elements.append(_messages_table(document))
    return Section("steps", "Steps", elements)


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


def _messages_table(document: Document) -> Table:
    rows = [
        [words(name), _load(step), whole(count), words(message)]
        for name in topologies(document)
        for step in by_load(document, name)
        for message, count in step["messages"].items()
    ]
    columns = [Column("topology", numeric=False), _load_column(document), Column("journeys")]
    caption = "The most frequent errors of each step and class, as the client saw them"
    return Table("errors", caption, [*columns, Column("error", numeric=False)], rows, heads=2)


def _setup(document: Document) -> Section:
    manifest = document["manifest"]
    shown = {name: value for name, value in manifest["switches"].items() if name != "connections"}  # a step has its own
    facts = [f"{name}: {text}" for name, text in machine_facts(manifest)]
    facts += [
        f"workload {manifest['workload']}, seed {manifest['seeds']['tape']}",
        f"switches: {switches_text(shown)}",
    ]
    limit = (
        "One machine carries the generator, the shop, its database and its telemetry: the figures compare topologies "
        "on it, and say nothing about a cluster. How it is measured, and what it can and cannot say: docs/capacity.md."
    )
    return Section("setup", "Set-up", [Points(facts), Text(limit)])


def mark(step: Step) -> list[str]:
    """Whether a step held, and whether the generator was at its limit."""
    verdict = {True: ["holds"], False: ["misses"], None: []}[step["holds"]]
    return [*verdict, "GENERATOR"] if generator_limits(step) else verdict


def curve(document: Document, topology: str) -> str:
    """p99 over the load in plain text, a line for each step, on a logarithmic scale."""
    steps, objective = by_load(document, topology), document["options"].get("objective_ms")
    highest = max(10.0, objective or 0.0, *(step["latency_ms"]["p99"] or 0.0 for step in steps))
    top = 10.0 ** math.ceil(math.log10(highest))
    over = "number of users" if document["kind"] == "stress" else "rate"
    title = f"{topology}: p99 over the {over}, {CURVE_FROM_MS:g} to {top:g} ms, logarithmic"
    lines = [title + (f"; | is the objective, {objective:g} ms" if objective else "")]
    for step in steps:
        p99 = step["latency_ms"]["p99"]
        cells = ["█" if p99 is not None and at <= _cell(p99, top) else " " for at in range(CURVE_CELLS)]
        if objective is not None:
            cells[_cell(objective, top)] = "|"
        text = f"{load_of(step):>7g}  {''.join(cells)}  {numbers.plain(p99):>6}  {', '.join(mark(step))}"
        lines.append(text.rstrip())
    return "\n".join(lines)


def _cell(value: float, top: float) -> int:
    share = math.log10(max(value, CURVE_FROM_MS) / CURVE_FROM_MS) / math.log10(top / CURVE_FROM_MS)
    return min(CURVE_CELLS - 1, int(share * CURVE_CELLS))


def _latency(step: Step) -> list[Cell]:
    return [number(step["latency_ms"]["p50"]), estimate(step["latency_ms"]["p99"], step["latency_ci95"]["p99"])]


def _load(step: Step) -> Cell:
    return number(step["rate"]) if step["users"] is None else whole(step["users"])


def _load_column(document: Document) -> Column:
    return Column("rate", "journeys/s") if document["kind"] == "sweep" else Column("users")
