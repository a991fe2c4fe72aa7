"""What customers and data saw of faults: tables, sentences, page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import cast

from hops.conclusions.wording import plural
from hops.elements.element import Element, Points, Section
from hops.elements.table import Cell, Column, Table, number, whole, words
from hops.gates.experiment import worst_of
from hops.gates.limits import gate_failure
from hops.gates.verdict import Doubt, failing_gates, verdict_of
from hops.kinds.chaos.document import Document, Struck
from hops.report.plain import write_plain
from hops.run.documents.gate import Verdict
from hops.run.files import read_document
from hops.tables.validity import gate_elements

OVER_WITHIN_S = 5.0
"""Seconds from the end of a fault until nothing may fail any more."""


def make_report(file: Path) -> tuple[Path, Verdict]:
    """Makes the page of a run from its document, beside it, each file whole or not at all.

    Returns:
        The page, and the verdict.

    Raises:
        MalformedRunError: The document is cut short, or of another schema.
        OSError: The disk is full, or the folder cannot be written.
    """
    document = cast("Document", read_document(file, form=Document))
    against = [*map(Doubt, wrong(document)), *doubts(document)]
    question = "What do customers see of a fault, how soon is it over, and is anything lost or doubled?"
    sections = [
        Section("faults", "Faults", elements(document)),
        Section("errors", "What customers were told", [errors_table(document), messages_table(document)]),
        Section(
            "validity",
            "Why these figures can be trusted, or not",
            [Points([*map(str, against)] or sound(document)), *gates(document)],
        ),
    ]
    return write_plain(file.parent, document, "chaos", question, sections, sound(document)[0] + ".", against)


def elements(document: Document) -> list[Element]:
    """What a terminal and the page show."""
    return [faults_table(document), Points(list(conclusions(document)))]


def gates(document: Document) -> list[Element]:
    """Every gate, and what to do about those that fail."""
    return gate_elements(worst_of(document["struck"]), len(document["struck"]), "fault")


def wrong(document: Document) -> list[str]:
    """What was lost, doubled or left half done, in words."""
    return [f"{_where(one)}: {what}" for one in document["struck"] for what in _wrong_with(one)]


def _wrong_with(one: Struck) -> list[str]:
    found = [f"{promise}: BROKEN" for promise in one["broken"]]
    if one["unanswered"]:
        found.append(f"{plural(one['unanswered'], 'purchase')} failed again when repeated")
    if one["unsettled"]:
        found.append(f"{one['unsettled']:,} sagas or updates never ended")
    return found


def doubts(document: Document) -> list[Doubt]:
    """Other reasons not to trust the figures, in words; a broken promise is a gate as well, and `wrong` has it."""
    count = Counter(name for one in document["struck"] for name in failing_gates(one["gates"]))
    return [
        Doubt(
            f"{gate_failure(gate)} (fails in {count[gate['name']]} of {plural(len(document['struck']), 'fault')})",
            verdict_of([gate]),
        )
        for gate in worst_of(document["struck"])
        if gate["name"] in count and gate["name"] != "invariants_broken"
    ]


def sound(document: Document) -> list[str]:
    """What was checked, of a run in which nothing is wrong."""
    struck = document["struck"]
    checkouts, repeated = (sum(one[name] for one in struck) for name in ("checkouts", "repeated"))
    return [
        f"{checkouts:,} purchases that customers were told of are in the data, each once, after "
        f"{plural(len(struck), 'fault')}",
        f"{repeated:,} purchases failed and were asked for once more with the same key: each was answered",
        "the shop's invariants, of money and stock among others, hold after each fault, and no saga or update was left",
    ]


def faults_table(document: Document) -> Table:
    """A row for each fault of each topology, with means over blocks."""
    rows: list[Sequence[Cell]] = []
    for (topology, fault), of in _cases(document):
        rows.append(
            [
                words(topology),
                words(fault),
                number(_mean(of, "lasted_s")),
                whole(round(_mean(of, "journeys"))),
                whole(sum(sum(one["failed"].values()) for one in of)),
                number(max(one["failing_s"] for one in of)) if all(one["over"] for one in of) else Cell("not over"),
                *(number(_latency(of, when, name)) for when, name in SHOWN),
                whole(sum(one["checkouts"] for one in of)),
                whole(sum(one["repeated"] for one in of)),
                words("wrong" if any(map(_wrong_with, of)) else "right"),
            ]
        )
    columns = [Column("topology", numeric=False), Column("fault", numeric=False), Column("lasted", "s", spare=1)]
    columns += [Column("journeys", spare=2), Column("failed"), Column("failing for", "s")]
    columns += [Column(f"{name} {when.removesuffix('_ms')}", "ms", spare=1) for when, name in SHOWN]
    columns += [Column("bought"), Column("repeated"), Column("data", numeric=False)]
    caption = (
        f"Faults at {document['rate']:g} journeys a second: how long each lasted (a kill, until the component was "
        "ready again), journeys that failed and for how long from its begin on they did, latency of those that did "
        "not, before it and during it and the second after, purchases that customers were told of and those that they "
        f"had to repeat; {plural(document['blocks'], 'block')}"
    )
    return Table("faults", caption, columns, rows, heads=2)


SHOWN = (("before_ms", "p50"), ("during_ms", "p50"), ("during_ms", "p99"))


def errors_table(document: Document) -> Table:
    """How journeys failed, by class and by kind of journey."""
    rows: list[Sequence[Cell]] = []
    for (topology, fault), of in _cases(document):
        classes, journeys = (_added(of, name) for name in ("failed", "failed_journeys"))
        if classes:
            rows.append([words(topology), words(fault), words(_counted(classes)), words(_counted(journeys))])
    columns = [Column(name, numeric=False) for name in ("topology", "fault", "by class", "by journey")]
    return Table("errors", "Journeys that failed; a fault that is not here failed none", columns, rows, heads=2)


def messages_table(document: Document) -> Table:
    """The most frequent errors."""
    added: Counter[str] = Counter()
    for one in document["struck"]:
        added.update(one["messages"])
    rows = [[words(text), whole(count)] for text, count in added.most_common(15)]
    return Table("messages", "The most frequent errors", [Column("error", numeric=False), Column("journeys")], rows)


def conclusions(document: Document) -> Iterator[str]:
    """What of the faults no customer saw, what was over late, and what the audit says."""
    for topology in document["manifest"]["topologies"]:
        of = [one for one in document["struck"] if one["topology"] == topology]
        unseen = [one["fault"] for one in of if not one["failed"]]
        late = [one["fault"] for one in of if not one["over"] or one["failing_s"] - one["lasted_s"] > OVER_WITHIN_S]
        failed, sent = (
            sum(values) for values in zip(*((sum(one["failed"].values()), one["journeys"]) for one in of), strict=True)
        )
        said = (
            f"In {topology}, {failed:,} of {sent:,} journeys failed, and {len(unseen)} of {plural(len(of), 'fault')} "
            "failed none"
        )
        told = f"; journeys still failed {OVER_WITHIN_S:g} s after the end of {', '.join(late)}" if late else ""
        yield f"{said}{told}."
    if not wrong(document):
        yield f"{sound(document)[0]}."


def _cases(document: Document) -> Iterator[tuple[tuple[str, str], list[Struck]]]:
    for case, of in groupby(document["struck"], key=lambda one: (one["topology"], one["fault"])):
        yield case, list(of)


def _mean(of: Sequence[Struck], name: str) -> float:
    return float(sum(one[name] for one in of) / len(of))  # type: ignore[literal-required] # a figure


def _latency(of: Sequence[Struck], when: str, name: str) -> float | None:
    known = [one[when][name] for one in of if one[when]]  # type: ignore[literal-required] # latencies
    return float(sum(known) / len(known)) if known else None


def _added(of: Sequence[Struck], name: str) -> Counter[str]:
    added: Counter[str] = Counter()
    for one in of:
        added.update(one[name])  # type: ignore[literal-required] # counts by name
    return added


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.most_common())


def _where(one: Struck) -> str:
    return f"{one['topology']}, {one['fault']}, block {one['block']}"
