"""What others gain without a kind of journey beside them: measured beside predicted."""

from __future__ import annotations

from collections.abc import Sequence

from hops.elements import numbers
from hops.elements.element import Element, Fold, Points, Text
from hops.elements.table import Cell, Column, Table, estimate, whole, words
from hops.kinds.isolate.arms import in_words
from hops.kinds.isolate.conclusions import isolation_sentences
from hops.kinds.isolate.document import OTHERS, Isolation, IsolationRow
from hops.run.documents.estimate import Estimate


def isolation_elements(isolation: Isolation) -> list[Element]:
    """What all other journeys together gain in each arm."""
    disturber = isolation["disturber"]
    together = [row for row in isolation["rows"] if row["journey"] == OTHERS]
    return [
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
    ]


def isolation_details(isolation: Isolation) -> list[Element]:
    """The same by kind of journey."""
    caption = "What each kind of journey gains in the mean, ms, with 95 % intervals"
    rows = [row for row in isolation["rows"] if row["journey"] != OTHERS]
    return [Fold("Each kind of journey", [_table("isolation_journeys", caption, rows)])]


def _table(key: str, caption: str, rows: Sequence[IsolationRow]) -> Table:
    columns = [
        Column("arm", numeric=False),
        Column("journey", numeric=False),
        Column("journeys", spare=2),
        Column("met one", spare=1),
        *(Column(name, "ms", interval=True) for name in ("measured", "predicted", "difference")),
        Column("verdict", numeric=False),
    ]
    cells = [
        [
            words(in_words(row["arm"])),
            words(row["journey"]),
            whole(row["journeys"]),
            whole(row["meetings"]),
            *(_estimate(one) for one in (row["measured"], row["predicted"], row["difference"])),
            _verdict(row),
        ]
        for row in rows
    ]
    return Table(key, caption, columns, cells, heads=2)


def _estimate(one: Estimate | None) -> Cell:
    return estimate(None, numbers.UNKNOWN) if one is None else estimate(one["value"], one["ci95"], signed=True)


def _verdict(row: IsolationRow) -> Cell:
    told = "too few" if row["predicted"] is None else row["verdict"]
    return Cell(
        told, told, tone="bad" if told == "differ" else "", note=(row["reason"] or "").removeprefix("too few: ")
    )
