"""Growth under load, in sentences and tables."""

from __future__ import annotations

from collections.abc import Iterator

from hops.elements.compared import Compared
from hops.elements.element import Element, Heading, Points, Section
from hops.elements.numbers import figure, share
from hops.elements.table import Cell, Column, Table, estimate, number, words
from hops.kinds.soak.analysis import COUNTS, DATABASE, JOURNEYS, MEMORY, Change, Soak, growing, soak_of
from hops.kinds.soak.trends import SETTLING
from hops.tables.view import SummaryView

UNITS = {MEMORY: "MiB of memory", "p50": "ms at p50", "p99": "ms at p99"}


def section(view: SummaryView) -> Section:
    """Shows what grows, and how everything changes per hour."""
    soak = soak_of(view.summary)
    elements: list[Element] = [
        Points(list(sentences(soak)), tone="conclusions"),
        held_table(soak, view.compared),
        Heading("Database and latencies"),
        shop_table(soak, view.compared),
    ]
    return Section("trends", "What grows", elements)


def sentences(soak: Soak) -> Iterator[str]:
    """Describes what is shown to grow in each topology."""
    for topology in dict.fromkeys(change["topology"] for change in soak["changes"]):
        changes = [change for change in soak["changes"] if change["topology"] == topology]
        for change in growing(changes):
            low, high = (figure(end) for end in change["ci95"] or ())
            unit = UNITS.get(change["measure"], change["measure"])
            yield f"{topology}: {change['component']} grows by {low} to {high} {unit} an hour."
        tells = [change["tells"] for change in changes if change["measure"] == MEMORY]
        if not tells:
            yield f"{topology}: none of its processes could be seen, so nothing shows whether they grow."
        elif not all(tells):
            yield f"{topology}: the load was too short to tell growth from what fills once; give minutes=60 or more."
        elif not growing(changes):
            yield f"{topology}: nothing that should stay constant was shown to grow."


def held_table(soak: Soak, compared: Compared) -> Table:
    """Makes a table with a row for each component: its memory, and the changes of all its resources."""
    of_component: dict[tuple[str, str], dict[str, Change]] = {}
    for change in soak["changes"]:
        if change["component"] not in (DATABASE, JOURNEYS):
            of_component.setdefault((change["topology"], change["component"]), {})[change["measure"]] = change
    rows = [
        [
            words(topology),
            words(component),
            number(changes[MEMORY]["mean"]),
            *(_slope(changes[measure]) for measure in (MEMORY, *COUNTS)),
            words(_verdict(changes)),
        ]
        for (topology, component), changes in of_component.items()
    ]
    columns = [Column(compared.one, numeric=False), Column("component", numeric=False), Column("memory", "MiB")]
    columns += [Column("memory", "MiB/h", interval=True)]
    columns += [Column(name, "1/h", interval=True) for name in COUNTS]
    columns += [Column("verdict", numeric=False)]
    caption = (
        f"What components use at {soak['rate']:g} journeys a second for {soak['minutes']:g} min, and its change in an "
        f"hour, with 95 % intervals; the first {share(SETTLING, 0)} is left out"
    )
    return Table("held", caption, columns, rows, heads=2)


def shop_table(soak: Soak, compared: Compared) -> Table:
    """Shows the size of the database, which grows with orders, and the latency of all journeys."""
    names = {"size_mb": "database, MiB", "p50": "p50, ms", "p99": "p99, ms"}
    rows = [
        [words(change["topology"]), words(names[change["measure"]]), number(change["mean"]), _slope(change)]
        for change in soak["changes"]
        if change["measure"] in names
    ]
    columns = [Column(compared.one, numeric=False), Column("what", numeric=False), Column("mean")]
    columns += [Column("change", "1/h", interval=True)]
    return Table("shop", "The database, and journeys", columns, rows, heads=2)


def _verdict(changes: dict[str, Change]) -> str:
    leaks = [UNITS.get(name, name) for name, change in changes.items() if change["grows"]]
    if leaks:
        return f"GROWS: {', '.join(leaks)}"
    return "steady" if changes[MEMORY]["tells"] else "too short"


def _slope(change: Change) -> Cell:
    if change["per_hour"] is None or change["ci95"] is None:
        return Cell("too short")
    return estimate(change["per_hour"], change["ci95"], signed=True)
