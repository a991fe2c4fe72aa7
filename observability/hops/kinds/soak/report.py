"""What grew under load, and what did not: tables, sentences, page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from hops.elements.element import Element, Points, Section
from hops.elements.numbers import figure
from hops.elements.table import Cell, Column, Table, estimate, number, words
from hops.gates.experiment import worst_of
from hops.gates.limits import gate_failure
from hops.gates.verdict import Doubt, verdict_of
from hops.kinds.soak.document import Document, Soaked
from hops.kinds.soak.trends import SETTLING, Trend, trend
from hops.report.plain import write_plain
from hops.run.documents.gate import Verdict
from hops.run.files import read_document
from hops.tables.validity import gate_elements

MEASURES = ("memory_mb", "descriptors", "threads", "connections")
UNITS = {"memory_mb": "MiB of memory"}
MEMORY_MB_PER_HOUR = 1.0
"""Growth of memory that is no leak: an interval's lower end must be above it."""
TOLD = ("failure_share", "invariants_broken")
"""Gates whose failures have sentences of their own."""
ONE = 1.0
"""Descriptors, threads and connections come whole: less over the whole load is none."""
SLOWER = 0.05
"""Share of a latency by which it must grow over the whole load to count."""


def make_report(file: Path) -> tuple[Path, Verdict]:
    """Makes the page of a run from its document, beside it, each file whole or not at all.

    Returns:
        The page, and the verdict.

    Raises:
        MalformedRunError: The document is cut short, or of another schema.
        OSError: The disk is full, or the folder cannot be written.
    """
    document = cast("Document", read_document(file, form=Document))
    wrong = doubts(document)
    question = "Does anything grow while the shop is under load for long?"
    sections = [
        Section("trends", "Trends", elements(document)),
        Section(
            "validity",
            "Why these figures can be trusted, or not",
            [Points([*map(str, wrong)] or [SOUND]), *gates(document)],
        ),
    ]
    return write_plain(file.parent, document, "soak", question, sections, f"{SOUND}.", wrong)


SOUND = "nothing was shown to grow that should not, no journey failed, and every invariant of the shop holds"


def elements(document: Document) -> list[Element]:
    """What a terminal and the page show."""
    failed = [
        f"In {one['topology']}, {one['failed']:,} of {one['journeys']:,} journeys failed." for one in document["soaked"]
    ]
    return [held_table(document), shop_table(document), Points(failed)]


def gates(document: Document) -> list[Element]:
    """Every gate, and what to do about those that fail."""
    return gate_elements(worst_of(document["soaked"]), len(document["soaked"]), "load")


def doubts(document: Document) -> list[Doubt]:
    """What leaks, fails or is broken, and what disturbed the load."""
    against = []
    for one in document["soaked"]:
        name = one["topology"]
        against += [Doubt(leak) for leak in _leaks(one)]
        if one["failed"]:
            against.append(Doubt(f"{name}: {one['failed']:,} of {one['journeys']:,} journeys failed"))
        against += [Doubt(f"{name}: {promise}: BROKEN") for promise in one["broken"]]
        against += [
            Doubt(f"{name}: {gate_failure(gate)}", verdict_of([gate]))
            for gate in one["gates"]
            if not gate["ok"] and gate["name"] not in TOLD
        ]
        trends = [trend(one["at_s"], held["memory_mb"]) for held in one["held"].values()]
        if not all(found is not None and found.tells for found in trends):
            too_short = f"{name}: too short to tell growth from what fills once; give minutes=60 or more"
            against.append(Doubt(too_short))
    return against


def _leaks(one: Soaked) -> Iterator[str]:
    for component, held in one["held"].items():
        for measure in MEASURES:
            found = trend(one["at_s"], held[measure])  # type: ignore[literal-required] # one of MEASURES
            if found is not None and _is_leak(measure, found):
                low, high = (figure(end) for end in found.ci95)
                what = UNITS.get(measure, measure)
                yield f"{one['topology']}: {component} grows by {low} to {high} {what} an hour"
    for name, latencies in one["latency_ms"].items():
        found = trend(one["minutes_s"], latencies)
        if found is not None and found.grows(0.0, SLOWER * found.mean):
            low, high = (figure(end) for end in found.ci95)
            yield f"{one['topology']}: {name} of all journeys grows by {low} to {high} ms an hour"


def _is_leak(measure: str, found: Trend) -> bool:
    return found.grows(MEMORY_MB_PER_HOUR) if measure == "memory_mb" else found.grows(0.0, ONE)


def held_table(document: Document) -> Table:
    """A row for each component: memory, and how everything that it holds changes."""
    rows: list[Sequence[Cell]] = []
    for one in document["soaked"]:
        for component, held in sorted(one["held"].items()):
            trends = {name: trend(one["at_s"], held[name]) for name in MEASURES}  # type: ignore[literal-required]
            leaks = [name for name, found in trends.items() if found is not None and _is_leak(name, found)]
            mean = trends["memory_mb"].mean if trends["memory_mb"] else None
            told = "steady" if trends["memory_mb"] and trends["memory_mb"].tells else "too short"
            verdict = words(f"GROWS: {', '.join(UNITS.get(name, name) for name in leaks)}" if leaks else told)
            rows.append(
                [words(one["topology"]), words(component), number(mean), *map(_slope, trends.values()), verdict]
            )
    columns = [Column("topology", numeric=False), Column("component", numeric=False), Column("memory", "MiB")]
    columns += [Column("memory", "MiB/h", interval=True)]
    columns += [Column(name, "1/h", interval=True) for name in MEASURES[1:]]
    columns += [Column("verdict", numeric=False)]
    caption = (
        f"What components hold at {document['rate']:g} journeys a second for {document['minutes']:g} min, and by how "
        f"much it changes in an hour, with 95 % intervals; the first {SETTLING:.0%} is left out"
    )
    return Table("held", caption, columns, rows, heads=2)


def shop_table(document: Document) -> Table:
    """The size of the database, which grows with orders, and the latency of all journeys."""
    rows: list[Sequence[Cell]] = []
    for one in document["soaked"]:
        seen = {"database, MiB": trend(one["at_s"], one["database_mb"])}
        seen |= {f"{name}, ms": trend(one["minutes_s"], of) for name, of in one["latency_ms"].items()}
        for name, found in seen.items():
            rows.append([words(one["topology"]), words(name), number(found.mean if found else None), _slope(found)])
    columns = [Column("topology", numeric=False), Column("what", numeric=False), Column("mean")]
    return Table(
        "shop", "The database, and journeys", [*columns, Column("change", "1/h", interval=True)], rows, heads=2
    )


def _slope(found: Trend | None) -> Cell:
    return Cell("too short") if found is None else estimate(found.per_hour, found.ci95, signed=True)
