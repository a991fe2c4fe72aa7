"""First section of the report of a run with faults: how each fault affected customers and data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from hops.conclusions.wording import plural
from hops.elements.element import Element, Heading, Points, Section, Text
from hops.elements.table import Cell, Column, Table, number, whole, words
from hops.errors import printable
from hops.kinds.chaos.analysis import OVER_WITHIN_S, fails_after
from hops.kinds.chaos.document import Struck, struck_of
from hops.tables.view import SummaryView

SHOWN = (("before_ms", "p50"), ("during_ms", "p50"), ("during_ms", "p99"))
MAX_MESSAGES = 15
READING = (
    "A kill lasts until the component is ready again. “Failing for” counts from the start of the fault. Latencies "
    "are those of the other journeys, before the fault, and during it and the second after it."
)


def section(view: SummaryView) -> Section:
    """Shows the results, in sentences and as a table, and the errors."""
    struck = struck_of(view.summary)
    elements: list[Element] = [
        Points(list(sentences(struck)), tone="conclusions"),
        faults_table(struck),
        Text(READING, tone="note"),
        Heading("Errors that customers received"),
        errors_table(struck),
        messages_table(struck),
    ]
    return Section("faults", "How faults affect customers and data", elements)


def sentences(struck: Sequence[Struck]) -> Iterator[str]:
    """Describes how many journeys failed, after which faults journeys continued to fail, and what the audit found."""
    for topology in dict.fromkeys(one["topology"] for one in struck):
        of = [one for one in struck if one["topology"] == topology]
        unseen = [one["fault"] for one in of if not one["failed"]]
        late = [one["fault"] for one in of if fails_after(one)]
        failed, sent = sum(sum(one["failed"].values()) for one in of), sum(one["journeys"] for one in of)
        still = f"; journeys still failed {OVER_WITHIN_S:g} s after the end of {', '.join(late)}" if late else ""
        yield (
            f"In {topology}, {failed:,} of {sent:,} journeys failed, and {len(unseen)} of {plural(len(of), 'fault')} "
            f"made no journey fail{still}."
        )
    wrong = [
        f"{one['topology']}, {one['fault']}, block {one['block']}: {what}." for one in struck for what in damage_of(one)
    ]
    yield from wrong
    if not wrong:
        checkouts, repeated = sum(one["checkouts"] for one in struck), sum(one["repeated"] for one in struck)
        yield (
            f"All {checkouts:,} purchases that were confirmed to customers are in the data, each once, after "
            f"{plural(len(struck), 'fault')}."
        )
        yield f"{repeated:,} purchases failed and were repeated with the same key: each was answered."
        yield "After each fault, the invariants of money and stock hold, and every saga and update has ended."


def damage_of(one: Struck) -> list[str]:
    """Describes what a fault lost, doubled or left unfinished."""
    damage = [f"{promise}: BROKEN" for promise in one["broken"]]
    if one["unanswered"]:
        damage.append(f"{plural(one['unanswered'], 'purchase')} failed again when repeated")
    if one["unsettled"]:
        damage.append(f"{one['unsettled']:,} sagas or updates never ended")
    return damage


def faults_table(struck: Sequence[Struck]) -> Table:
    """Makes a table with a row for each fault of each topology, with means over blocks."""
    rows: list[Sequence[Cell]] = []
    for (topology, fault), of in _cases(struck):
        rows.append(
            [
                words(topology),
                words(fault),
                number(sum(one["lasted_s"] for one in of) / len(of)),
                whole(round(sum(one["journeys"] for one in of) / len(of))),
                whole(sum(sum(one["failed"].values()) for one in of)),
                number(max(one["failing_s"] for one in of)) if all(one["over"] for one in of) else Cell("not over"),
                *(number(_latency(of, when, name)) for when, name in SHOWN),
                whole(sum(one["checkouts"] for one in of)),
                whole(sum(one["repeated"] for one in of)),
                words("wrong" if any(map(damage_of, of)) else "right"),
            ]
        )
    columns = [Column("topology", numeric=False), Column("fault", numeric=False), Column("lasted", "s", spare=1)]
    columns += [Column("journeys", spare=2), Column("failed"), Column("failing for", "s")]
    columns += [Column(f"{name} {when.removesuffix('_ms')}", "ms", spare=1) for when, name in SHOWN]
    columns += [Column("bought"), Column("repeated"), Column("data", numeric=False)]
    caption = f"What each fault did to journeys and purchases, {plural(max(one['block'] for one in struck), 'block')}"
    return Table("faults", caption, columns, rows, heads=2)


def errors_table(struck: Sequence[Struck]) -> Table:
    """Counts the failed journeys, by class and by kind of journey."""
    rows: list[Sequence[Cell]] = []
    for (topology, fault), of in _cases(struck):
        classes, journeys = (_sum_counts(one[name] for one in of) for name in ("failed", "failed_journeys"))
        if classes:
            rows.append([words(topology), words(fault), words(_list_counts(classes)), words(_list_counts(journeys))])
    columns = [Column(name, numeric=False) for name in ("topology", "fault", "by class", "by journey")]
    return Table("errors", "Journeys that failed; faults without failed journeys are left out", columns, rows, heads=2)


def messages_table(struck: Sequence[Struck]) -> Table:
    """Lists the most frequent errors."""
    added = _sum_counts(one["messages"] for one in struck)
    rows = [[words(printable(text)), whole(count)] for text, count in added.most_common(MAX_MESSAGES)]
    return Table("messages", "The most frequent errors", [Column("error", numeric=False), Column("journeys")], rows)


def _cases(struck: Sequence[Struck]) -> Iterator[tuple[tuple[str, str], list[Struck]]]:
    for case, of in groupby(struck, key=lambda one: (one["topology"], one["fault"])):
        yield case, list(of)


def _latency(of: Sequence[Struck], when: str, name: str) -> float | None:
    known = [one[when][name] for one in of if one[when]]  # type: ignore[literal-required] # latencies
    return float(sum(known) / len(known)) if known else None


def _sum_counts(counts: Iterator[dict[str, int]]) -> Counter[str]:
    added: Counter[str] = Counter()
    for one in counts:
        added.update(one)
    return added


def _list_counts(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.most_common())
