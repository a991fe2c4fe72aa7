"""The effect of load on topologies, in tables."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby, islice

from hops.elements import numbers
from hops.elements.element import Element, Fold, Heading, Points, Section, Text
from hops.elements.table import Cell, Column, Table, number, table_of, texts, words
from hops.kinds.rates.conclusions import crossing_words, rates_sentences
from hops.kinds.rates.document import RateArm, rates_of
from hops.tables.estimate import estimate_cell
from hops.tables.latency import percentile
from hops.tables.view import SummaryView
from hops.units import ALL


def section(view: SummaryView) -> Section:
    """Makes the first section of the report; its chart follows the first sentence."""
    rates = rates_of(view.summary)
    journeys = list(dict.fromkeys(row["journey"] for row in rates["crossings"] if row["journey"] != ALL))
    elements: list[Element] = [
        Points(rates_sentences(view.summary), tone="conclusions"),
        points_table(view),
        Heading("At which rate the ranking flips"),
        Text(
            "p50 and mean of all journeys, interpolated between the equal rates in each block. Rankings flip where two "
            f"{view.compared.many} cross. Verdicts at the lowest and the highest rate are corrected for all pairs and "
            "journeys; the 95 % interval is not. An end is open (…) if it is outside the measured rates."
        ),
        crossings_table(view, [ALL]),
        Heading("What is full first"),
        Text(
            "The rate at which a straight line through the use of CPU reaches its limit. The limit of a component is "
            "one core for each process with an event loop; that of all processes, including generator and tracing, is "
            "the machine's cores. Components in Go have no event loop. "
            "Queues become long at lower rates: at 80 % of it, a journey often waits longer than it works."
        ),
        fillings_table(view),
        Fold("At which rate the ranking flips, by journey", [crossings_table(view, journeys)]),
    ]
    return Section("rates", "What load does", elements)


def points_table(view: SummaryView) -> Table:
    """Makes a table with a row per topology and rate."""

    def latency(metric: str) -> tuple[Column, Callable[[RateArm], Cell]]:
        figures = {label: one["journeys"][ALL] for label, one in view.summary["topologies"].items()}
        return Column(metric, "ms", interval=True), lambda arm: percentile(figures[arm["label"]], metric)

    return table_of(
        "rates_points",
        "Latency of all journeys and CPU, by rate",
        rates_of(view.summary)["arms"],
        [
            view.topologies_of_rows,
            (Column("rate", "1/s"), lambda arm: number(arm["rate"])),
            (Column("of what it holds"), _share_of_capacity),
            *map(latency, ("p50", "mean", "p99")),
            (Column("CPU of a journey", "ms", interval=True), lambda arm: estimate_cell(arm["cpu_ms"])),
            (Column("in use", "cores"), lambda arm: number(arm["cores"])),
        ],
        heads=2,
    )


def _share_of_capacity(arm: RateArm) -> Cell:
    return Cell(numbers.NOTHING if arm["percent"] is None else f"{arm['percent']:g} %", arm["percent"])


def crossings_table(view: SummaryView, journeys: list[str]) -> Table:
    """Makes a table with a row per journey, metric and pair."""
    return table_of(
        "rates_crossings" if journeys == [ALL] else "rates_crossings_by_journey",
        f"Which {view.compared.one} is faster, by journeys a second",
        [row for row in rates_of(view.summary)["crossings"] if row["journey"] in journeys],
        [
            *texts("journey", "metric", "left", "right"),
            (Column("faster", numeric=False), lambda row: words(crossing_words(row))),
        ],
        heads=4,
    )


def fillings_table(view: SummaryView) -> Table:
    """Lists what is full first in each topology: the machine, or the busiest event loops."""
    by_topology = groupby(rates_of(view.summary)["fillings"], key=lambda row: row["topology"])
    return table_of(
        "rates_fillings",
        "What is full first, by its use of CPU",
        [row for _, rows in by_topology for row in islice(rows, _MAX_SHOWN)],
        [
            view.topologies_of_rows,
            (Column("what", numeric=False), lambda row: words(row["component"])),
            (Column("can use", "cores"), lambda row: number(row["limit"])),
            (Column("uses at the highest rate", "cores"), lambda row: number(row["cores"])),
            (Column("full at", "1/s", interval=True), lambda row: estimate_cell(row["at"])),
        ],
        heads=2,
    )


_MAX_SHOWN = 3
"""Maximum number of rows per topology in the table of what is full first."""
