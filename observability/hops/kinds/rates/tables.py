"""What load did to topologies, in tables."""

from __future__ import annotations

from hops.elements import numbers
from hops.elements.element import Element, Fold, Heading, Points, Text
from hops.elements.table import Cell, Column, Table, estimate, number, words
from hops.kinds.rates.conclusions import crossing_words, rates_sentences
from hops.kinds.rates.document import Rates, rates_of
from hops.tables.view import SummaryView
from hops.units import ALL


def rates_elements(view: SummaryView) -> list[Element]:
    """Sentences, latency and cost over the rate, where the order turns round, what is full first."""
    rates = rates_of(view.summary)
    return [
        Points(rates_sentences(view.summary), tone="conclusions"),
        points_table(view),
        Heading("At which rate the order turns round"),
        Text(
            "p50 and mean of all journeys, interpolated between the equal rates in each block. A rate is where two "
            "topologies cross, with its 95 % interval, corrected for all pairs and journeys; an end is open (…) where "
            "it lies outside of the measured rates."
        ),
        crossings_table(rates, [ALL]),
        Heading("What is full first"),
        Text(
            "Where a straight line through the use of CPU over the rate reaches what there is: one core for a process "
            "with one event loop, the machine's for all processes together, with the generator and the tracing. "
            "Queues are long before that: at 80 % of it, a journey often waits longer than it works."
        ),
        fillings_table(rates),
    ]


def rates_details(rates: Rates) -> list[Element]:
    """Where the order turns round for each journey."""
    journeys = list(dict.fromkeys(row["journey"] for row in rates["crossings"] if row["journey"] != ALL))
    return [Fold("At which rate the order turns round, by journey", [crossings_table(rates, journeys)])]


def points_table(view: SummaryView) -> Table:
    """A row per topology and rate."""
    columns = [
        Column("topology", numeric=False),
        Column("rate", "1/s"),
        Column("of what it holds"),
        Column("p50", "ms", interval=True),
        Column("mean", "ms", interval=True),
        Column("p99", "ms", interval=True),
        Column("CPU of a journey", "ms", interval=True),
        Column("in use", "cores"),
    ]
    rows = []
    for arm in rates_of(view.summary)["arms"]:
        cell = view.summary["topologies"][arm["label"]]["journeys"][ALL]
        cpu = arm["cpu_ms"]
        rows.append(
            [
                words(arm["topology"]),
                number(arm["rate"]),
                Cell(numbers.NOTHING if arm["percent"] is None else f"{arm['percent']:g} %", arm["percent"]),
                *(
                    estimate(cell["latency_ms"][metric], cell["latency_ci95"][metric])
                    for metric in ("p50", "mean", "p99")
                ),
                estimate(None, numbers.UNKNOWN) if cpu is None else estimate(cpu["value"], cpu["ci95"]),
                number(arm["cores"]),
            ]
        )
    return Table("rates_points", "Latency of all journeys and CPU, by rate", columns, rows, heads=2)


def crossings_table(rates: Rates, journeys: list[str]) -> Table:
    """A row per journey, metric and pair."""
    columns = [
        Column("journey", numeric=False),
        Column("metric", numeric=False),
        Column("left", numeric=False),
        Column("right", numeric=False),
        Column("faster", numeric=False),
    ]
    rows = [
        [
            words(row["journey"]),
            words(row["metric"]),
            words(row["left"]),
            words(row["right"]),
            words(crossing_words(row)),
        ]
        for row in rates["crossings"]
        if row["journey"] in journeys
    ]
    name = "rates_crossings" if journeys == [ALL] else "rates_crossings_by_journey"
    return Table(name, "Which topology is faster, by journeys a second", columns, rows, heads=4)


def fillings_table(rates: Rates) -> Table:
    """A row for what is full first in each topology: the machine, and the busiest event loops."""
    columns = [
        Column("topology", numeric=False),
        Column("what", numeric=False),
        Column("can use", "cores"),
        Column("uses at the highest rate", "cores"),
        Column("full at", "1/s", interval=True),
    ]
    shown: dict[str, int] = {}
    rows = []
    for row in rates["fillings"]:
        shown[row["topology"]] = shown.get(row["topology"], 0) + 1
        if shown[row["topology"]] <= _MOST_SHOWN:
            at = estimate(row["at"]["value"], row["at"]["ci95"])
            rows.append(
                [words(row["topology"]), words(row["component"]), number(row["limit"]), number(row["cores"]), at]
            )
    return Table("rates_fillings", "What is full first, by its use of CPU", columns, rows, heads=2)


_MOST_SHOWN = 3
"""How much of a topology the table of what is full first has."""
