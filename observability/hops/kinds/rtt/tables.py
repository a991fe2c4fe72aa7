"""The measured effect of distance, and the model of distance compared with it."""

from __future__ import annotations

from hops.conclusions.comparison import fastest
from hops.conclusions.wording import join_names
from hops.elements import numbers
from hops.elements.element import Element, Fold, Heading, Points, Section, Text
from hops.elements.table import Cell, Column, Table, number, table_of, texts, words
from hops.kinds.rtt.conclusions import TOLERANCE, at_distance, break_even_sentences, interval_within, rtt_sentences
from hops.kinds.rtt.document import check_of
from hops.run.documents.distance import BreakEven
from hops.tables.estimate import agreement_cell, estimate_cell
from hops.tables.view import SummaryView


def section(view: SummaryView) -> Section:
    """Makes the first section of the report: the fastest topology by distance, and how well the model predicts it.

    The model's curves, with the measured points, are in the section on distance.
    """
    check = check_of(view.summary)
    elements: list[Element] = [
        Text(
            f"Each arm is one {view.compared.one} at one round-trip time. All arms have an emulated link and TLS, "
            f"also the nearest. From the arms at {check['rtts_ms'][0]:g} ms alone the model predicts the others: "
            "each journey takes longer by its round trips times the additional round-trip time."
        ),
        Points(rtt_sentences(view.summary), tone="conclusions"),
        fastest_table(view),
        Heading(f"Which {view.compared.one} is faster, measured and predicted"),
        Text(
            f"Measured is where the measured medians of two {view.compared.many} cross, interpolated between the "
            "measured round-trip times in each block. Predicted is where those of the model cross, over the same "
            "range. An interval is open (…) where it reaches the nearest or the farthest distance. The two agree if "
            "the joint 95 % interval of their difference, paired by block, includes 0."
        ),
        Points(break_even_sentences(check), tone="sentences"),
        Heading("Does p50 grow with the round trips?"),
        slopes_table(view),
        Fold(f"Every pair of {view.compared.many}", [break_evens_table(view)]),
        Fold("Every measured p50 and its prediction", [points_table(view)]),
    ]
    return Section("rtt", "What distance does", elements)


def fastest_table(view: SummaryView) -> Table:
    """Lists, by journey and distance, the topologies that are not shown to be slower at p50 than the fastest."""
    check = check_of(view.summary)
    columns = [Column("journey", numeric=False), *(Column(f"{at:g} ms", numeric=False) for at in check["rtts_ms"])]
    rows = [
        [words(journey), *(words(_names(view, journey, at)) for at in check["rtts_ms"])]
        for journey in view.journeys_and_all
    ]
    return Table("rtt_fastest", f"Fastest {view.compared.one} at p50, by round-trip time", columns, rows, totals=1)


def break_evens_table(view: SummaryView) -> Table:
    """Makes a table with a row per journey and pair."""
    return table_of(
        "rtt_break_evens",
        f"Which {view.compared.one} is faster from which round-trip time on, with 95 % intervals",
        check_of(view.summary)["break_evens"],
        [
            *texts("journey"),
            (Column("left", numeric=False), lambda row: words(row["measured"]["left"])),
            (Column("right", numeric=False), lambda row: words(row["measured"]["right"])),
            (Column("measured", "ms", interval=True), lambda row: _break_even(row["measured"])),
            (Column("predicted", "ms", interval=True), lambda row: _break_even(row["predicted"])),
            (
                Column("difference", "ms", interval=True, spare=1),
                lambda row: estimate_cell(row["difference"], signed=True),
            ),
            (Column("verdict", numeric=False), lambda row: agreement_cell(row["verdict"], row["reason"])),
        ],
        heads=3,
    )


def slopes_table(view: SummaryView) -> Table:
    """Makes a table with a row per journey and topology."""
    return table_of(
        "rtt_slopes",
        "Slope of the measured p50 over the round-trip time, with 95 % intervals",
        check_of(view.summary)["slopes"],
        [
            *texts("journey"),
            view.topologies_of_rows,
            (Column("round trips"), lambda row: number(row["round_trips"])),
            (Column("slope of p50", "ms per ms", interval=True), lambda row: estimate_cell(row["slope"])),
            (Column("slope / round trips", interval=True), lambda row: estimate_cell(row["ratio"])),
            (Column(f"within {100 * TOLERANCE:.0f} %", numeric=False), lambda row: words(interval_within(row))),
        ],
        heads=2,
    )


def points_table(view: SummaryView) -> Table:
    """Makes a table with a row per journey, topology and distance."""
    return table_of(
        "rtt_points",
        "Measured p50 and what the model predicts for it, ms",
        check_of(view.summary)["points"],
        [
            *texts("journey"),
            view.topologies_of_rows,
            (Column("round-trip time", "ms"), lambda row: number(row["rtt_ms"])),
            (Column("measured p50", "ms", interval=True), lambda row: estimate_cell(row["measured"])),
            (Column("predicted p50", "ms", interval=True), lambda row: estimate_cell(row["predicted"])),
            (
                Column("measured minus predicted", "ms", interval=True),
                lambda row: estimate_cell(row["difference"], signed=True),
            ),
            (Column("verdict", numeric=False), lambda row: agreement_cell(row["verdict"], row["reason"])),
        ],
        heads=3,
    )


def _names(view: SummaryView, journey: str, rtt_ms: float) -> str:
    names = fastest(at_distance(view.summary, rtt_ms), journey)
    if not names:
        return "not tested"
    return "none shown" if len(names) == len(check_of(view.summary)["topologies"]) else join_names(names, "or")


def _break_even(row: BreakEven) -> Cell:
    low, high = row["ci95_ms"]
    match row["verdict"]:
        case "from" | "up_to" | "beyond":
            at = "…" if row["at_ms"] is None else numbers.plain(row["at_ms"])
            return Cell(f"{row['sooner']} {row['verdict'].replace('_', ' ')} {at}", row["at_ms"], (low, high))
        case "always" | "never":
            return words(f"always {row['sooner']}")
        case "unknown":
            return words("not tested")
        case verdict:
            return words(verdict.replace("_", " "))
