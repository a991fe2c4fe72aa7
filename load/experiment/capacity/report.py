"""The report of a sweep or a stress test: `report.html`, `report.md` and `csv/`, by the building blocks of a run's."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from experiment.capacity.charts import figures
from experiment.capacity.document import Document, suspect_reasons
from experiment.capacity.terminal import LIMITS, by_load, confirmed, load_of, mark, topologies
from hops.elements import numbers
from hops.elements.element import Element, Points, Section, Text
from hops.elements.table import Cell, Column, Table, estimate, number, whole, words
from hops.report import chart
from hops.report.csv_files import write_csv_files
from hops.report.facts import machine_facts
from hops.report.markdown import markdown
from hops.report.page import render, source
from hops.run.rows import write_whole


def write_report(document: Document, folder: Path) -> None:
    """Writes the report into the folder of the results, each file whole or not at all.

    Raises:
        OSError: The disk is full, or the folder cannot be written.
    """
    chart.restart_ids()
    names = topologies(document)
    reasons = {name: suspect_reasons(document, name) for name in names}
    suspect = any(reasons.values()) or not document["complete"]
    sections = [_results(document, reasons), _curves(document), _steps(document), _setup(document)]
    title = f"{'Capacity' if document['kind'] == 'sweep' else 'Stress'} of {', '.join(names)}: {document['name']}"
    page = render(
        "capacity.html",
        title=f"SUSPECT: {title}" if suspect else title,
        name=document["name"],
        kind=document["kind"],
        valid=not suspect,
        topologies=" · ".join(names),
        sections=sections,
        style=source("style.css"),
        script=source("sort.js"),
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )
    _write(folder / "report.html", str(page))
    verdict = "SUSPECT" if suspect else "VALID"
    _write(folder / "report.md", markdown(title, [verdict], sections, suspect=suspect))
    write_csv_files(sections, folder / "csv")


def sentences(document: Document) -> list[str]:
    """What was found, a sentence for each topology."""
    found = []
    for name in topologies(document):
        result = document["results"].get(name)
        if result is None:
            found.append(f"{name}: not finished.")
        elif result["stopped"]:
            found.append(f"{name} came to its end early: {result['stopped']}.")
        elif document["kind"] == "sweep":
            found.append(_capacity(document, name))
        else:
            found.append(_most(document, name))
    return found


def _capacity(document: Document, name: str) -> str:
    objective, step = document["options"]["objective_ms"], confirmed(document, name)
    result = document["results"][name]
    if step is None:
        tried = ", ".join(f"{rate:g}" for rate in result["tried"]) or "none"
        return f"{name}: no rate was confirmed (tried: {tried})."
    at_least = "" if result["limit"] == "shop" else "at least "
    above = {
        "shop": f"{numbers.plain(result['failed'])} failed",
        "generator": f"at {numbers.plain(result['failed'])} the generator could not keep up, so the shop may hold more",
        "max_rate": "no higher rate was allowed",
        "unknown": "the search ended before a rate failed",
    }[result["limit"]]
    interval = numbers.interval((step["p99_low_ms"], step["p99_high_ms"]))
    return (
        f"{name} holds {at_least}{result['rate']:g} journeys a second with p99 under {objective:g} ms: p99 was "
        f"{numbers.plain(step['p99_ms'])} ms ({interval}) over {step['journeys_sent']:,} journeys; {above}."
    )


def _most(document: Document, name: str) -> str:
    steps = by_load(document, name)
    best = max(steps, key=lambda step: step["throughput_per_s"])
    first = next((step for step in steps if (step["failure_share"] or 0.0) >= 0.001), None)
    fails = (
        "no step had 0.1 % failures or more" if first is None else f"failures reach 0.1 % at {first['users']:,} users"
    )
    return (
        f"{name} answers at most {numbers.plain(best['throughput_per_s'])} journeys a second, at {best['users']:,} "
        f"users; {fails}."
    )


def _results(document: Document, reasons: dict[str, list[str]]) -> Section:
    elements: list[Element] = [Points(sentences(document))]
    if document["kind"] == "sweep":
        elements.append(_results_table(document))
    suspects = [f"{name}: {'; '.join(why)}" for name, why in reasons.items() if why]
    if not document["complete"]:
        suspects.insert(0, "The run was interrupted: what follows is what it had finished.")
    elements += [Text("SUSPECT, because:"), Points(suspects)] if suspects else [Text("VALID: every gate holds.")]
    return Section("results", "Results", elements)


def _results_table(document: Document) -> Table:
    rows: list[list[Cell]] = []
    for index, name in enumerate(topologies(document)):
        result, step = document["results"].get(name), confirmed(document, name)
        head = words(name, f"mark t{index % 8}")
        if result is None or step is None:
            rows.append(
                [head, Cell("none confirmed", None), *(Cell(numbers.NOTHING, None) for _ in range(5)), words("")]
            )
            continue
        rows.append(
            [
                head,
                number(result["rate"]),
                number(step["p50_ms"]),
                estimate(step["p99_ms"], (step["p99_low_ms"], step["p99_high_ms"])),
                number(result["failed"]),
                number(step["system_cores"]),
                number(step["generator_cores"]),
                words(LIMITS[result["limit"]]),
            ]
        )
    columns = [
        Column("topology", numeric=False),
        Column("held", "journeys/s"),
        Column("p50", "ms"),
        Column("p99", "ms", interval=True),
        Column("fails at", "journeys/s"),
        Column("CPU of the shop", "cores"),
        Column("CPU of the generator", "cores"),
        Column("limit", numeric=False),
    ]
    objective = document["options"]["objective_ms"]
    caption = (
        f"Highest rate confirmed with p99 under {objective:g} ms and failures under 0.1 %, and that step's figures"
    )
    return Table("capacity", caption, columns, rows)


def _curves(document: Document) -> Section:
    return Section("curves", "Curves", [figures(document)])


def _steps(document: Document) -> Section:
    rows: list[list[Cell]] = []
    for index, name in enumerate(topologies(document)):
        rows += [
            [
                words(name, f"mark t{index % 8}"),
                whole(load_of(step)) if load_of(step) >= 100 else number(load_of(step)),
                words(step["phase"]),
                whole(step["journeys_sent"]),
                number(step["throughput_per_s"]),
                number(step["p50_ms"]),
                estimate(step["p99_ms"], (step["p99_low_ms"], step["p99_high_ms"])),
                *(whole(count) for count in step["errors"].values()),
                whole(step["connections"]),
                whole(step["under_way_most"]),
                number(step["start_lag_p99_ms"]),
                number(step["system_cores"]),
                number(step["database_cores"]),
                number(step["telemetry_cores"]),
                number(step["generator_cores"]),
                number(step["memory_mb"]),
                words("; ".join([mark(step), *step["reasons"], *step["generator_limits"]]).strip("; ")),
            ]
            for step in by_load(document, name)
        ]
    load = Column("rate", "journeys/s") if document["kind"] == "sweep" else Column("users")
    columns = [
        Column("topology", numeric=False),
        load,
        Column("step", numeric=False),
        Column("sent"),
        Column("ended ok", "1/s"),
        Column("p50", "ms"),
        Column("p99", "ms", interval=True),
        *(Column(name) for name in ("client", "server", "timeout", "wrong answer")),
        Column("connections"),
        Column("most under way"),
        Column("start lag p99", "ms"),
        Column("shop", "cores"),
        Column("of it database", "cores"),
        Column("of it telemetry", "cores"),
        Column("generator", "cores"),
        Column("memory", "MiB"),
        Column("verdict", numeric=False),
    ]
    caption = "Every step, by rising load; the classes of failures are counts of journeys"
    elements: list[Element] = [Table("steps", caption, columns, rows, heads=2)]
    if any(step["messages"] for step in document["steps"]):
        elements.append(_messages_table(document))
    return Section("steps", "Steps", elements)


def _messages_table(document: Document) -> Table:
    rows = [
        [words(name), whole(load_of(step)), whole(count), words(message)]
        for name in topologies(document)
        for step in by_load(document, name)
        for message, count in step["messages"].items()
    ]
    load = "rate" if document["kind"] == "sweep" else "users"
    columns = [Column("topology", numeric=False), Column(load), Column("journeys"), Column("error", numeric=False)]
    return Table(
        "errors", "The most frequent errors of each step and class, as the client saw them", columns, rows, heads=2
    )


def _setup(document: Document) -> Section:
    manifest = document["manifest"]
    shown = {name: value for name, value in manifest["switches"].items() if name != "connections"}  # a step has its own
    switches = ", ".join(f"{name}={value}" for name, value in shown.items())
    facts = [f"{name}: {text}" for name, text in machine_facts(manifest)]
    closed = document["kind"] == "stress"
    load = f"closed loop, think time {document['options']['think_s']:g} s" if closed else "open loop"
    facts += [f"load: {load}, workload {manifest['workload']}, seed {manifest['seed']}", f"switches: {switches}"]
    limit = (
        "One machine carries the generator, the shop, its database and its telemetry: the figures compare topologies "
        "on it, and say nothing about a cluster. How it is measured, and what it can and cannot say: docs/capacity.md."
    )
    return Section("setup", "Set-up", [Points(facts), Text(limit)])


def _write(path: Path, text: str) -> None:
    write_whole(path, lambda scratch: scratch.write_text(text, encoding="utf-8"))
