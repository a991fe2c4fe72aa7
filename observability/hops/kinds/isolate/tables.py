"""How much faster others get without a kind of journey: measured and predicted."""

from __future__ import annotations

from collections.abc import Sequence

from hops.elements.element import Element, Fold, Points, Section, Text
from hops.elements.table import Cell, Column, Table, table_of, texts, whole, words
from hops.kinds.isolate.arms import in_words
from hops.kinds.isolate.conclusions import isolation_sentences
from hops.kinds.isolate.document import OTHERS, IsolationRow, isolation_in
from hops.tables.estimate import estimated
from hops.tables.view import SummaryView


def section(view: SummaryView) -> Section:
    """The first section of the report: what all other journeys together gain in each arm, and each kind of them."""
    isolation = isolation_in(view.summary)
    disturber = isolation["disturber"]
    together = [row for row in isolation["rows"] if row["journey"] == OTHERS]
    apart = [row for row in isolation["rows"] if row["journey"] != OTHERS]
    each = "What each kind of journey gains in the mean, ms, with 95 % intervals"
    elements: list[Element] = [
        Points(isolation_sentences(isolation), tone="sentences"),
        _table("isolation", "What all other journeys gain in the mean, ms, with 95 % intervals", together),
        Text(
            f"One tape in each arm: as it is; without {disturber}; and with {disturber} led by the edge to gateways "
            "and services of its own, where it shares nothing with the others but edge, database and machine. Measured "
            "gain is how much less the others took than as it is, the same journeys in the same block. Predicted gain "
            f"is from the trials as they are alone: how much longer journeys took that arrived while a {disturber} was "
            "under way, times the share that did. The two agree if the 95 % interval of their difference includes 0; "
            "its ends say how large a disagreement this experiment could have missed."
        ),
        Fold("Each kind of journey", [_table("isolation_journeys", each, apart)]),
    ]
    return Section("isolation", "What others gain", elements)


def _table(key: str, caption: str, rows: Sequence[IsolationRow]) -> Table:
    return table_of(
        key,
        caption,
        rows,
        [
            (Column("arm", numeric=False), lambda row: words(in_words(row["arm"]))),
            *texts("journey"),
            (Column("journeys", spare=2), lambda row: whole(row["journeys"])),
            (Column("met one", spare=1), lambda row: whole(row["meetings"])),
            (Column("measured", "ms", interval=True), lambda row: estimated(row["measured"], signed=True)),
            (Column("predicted", "ms", interval=True), lambda row: estimated(row["predicted"], signed=True)),
            (Column("difference", "ms", interval=True), lambda row: estimated(row["difference"], signed=True)),
            (Column("verdict", numeric=False), _verdict),
        ],
        heads=2,
    )


def _verdict(row: IsolationRow) -> Cell:
    told = "too few" if row["predicted"] is None else row["verdict"]
    return Cell(
        told, told, tone="bad" if told == "differ" else "", note=(row["reason"] or "").removeprefix("too few: ")
    )
