"""How much faster other journeys are without one kind of journey, in sentences and tables."""

from __future__ import annotations

from collections.abc import Sequence

from hops.conclusions.wording import in_ms
from hops.elements.element import Element, Fold, Points, Section, Text
from hops.elements.table import Cell, Column, Table, table_of, texts, whole, words
from hops.kinds.isolate.document import OTHERS, IsolationRow, in_words, isolation_in
from hops.tables.estimate import estimate_cell
from hops.tables.view import SummaryView


def section(view: SummaryView) -> Section:
    """Makes the first section of the report: the gain in each arm, of all other journeys together and of each kind."""
    isolation = isolation_in(view.summary)
    disturber = isolation["disturber"]
    together = [row for row in isolation["rows"] if row["journey"] == OTHERS]
    apart = [row for row in isolation["rows"] if row["journey"] != OTHERS]
    each = "What each kind of journey gains on average, ms, with 95 % intervals"
    elements: list[Element] = [
        Points([_sentence(row) for row in together], tone="sentences"),
        _table("isolation", "What all other journeys gain on average, ms, with 95 % intervals", together),
        Text(
            f"Every arm replays one tape: unchanged, without {disturber}, or with {disturber} routed by the edge to "
            "separate gateways and services. There it shares only edge, database and machine with the others. Measured "
            "gain is how much less time the others took than in the unchanged arm, in the same journeys and block. "
            "Predicted gain comes from the unchanged trials: how much longer journeys took if they arrived while a "
            f"{disturber} was in flight, times their share. The two agree if the 95 % interval of their difference "
            "includes 0; its ends say how large a disagreement this experiment could have missed."
        ),
        Fold("Each kind of journey", [_table("isolation_journeys", each, apart)]),
    ]
    return Section("isolation", "What others gain", elements)


def _sentence(row: IsolationRow) -> str:
    predicted = "nothing predicted" if row["predicted"] is None else f"predicted {in_ms(row['predicted'])}"
    text = f"{in_words(row['arm'])}: measured gain {in_ms(row['measured'])}, {predicted}"
    if row["verdict"] == "unknown" or row["difference"] is None:
        return f"{text}; no verdict: {row['reason']}."
    return f"{text}; they {row['verdict']}: difference {in_ms(row['difference'])}."


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
            (Column("measured", "ms", interval=True), lambda row: estimate_cell(row["measured"], signed=True)),
            (Column("predicted", "ms", interval=True), lambda row: estimate_cell(row["predicted"], signed=True)),
            (Column("difference", "ms", interval=True), lambda row: estimate_cell(row["difference"], signed=True)),
            (Column("verdict", numeric=False), _verdict),
        ],
        heads=2,
    )


def _verdict(row: IsolationRow) -> Cell:
    text = "too few" if row["predicted"] is None else row["verdict"]
    note = (row["reason"] or "").removeprefix("too few: ")
    return Cell(text, text, tone="bad" if text == "differ" else "", note=note)
