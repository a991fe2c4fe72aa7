"""Whether the figures can be trusted: the verdict and the gates of the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hops.conclusions.notes import failing_trials, verdict_sentence
from hops.conclusions.wording import join_names, plural, programs_text
from hops.elements.element import Element, Heading, Points, Terms, Text
from hops.elements.table import Cell, Column, Table, table_of, words
from hops.gates.limits import gate_name, kind_of
from hops.gates.verdict import failing_gates
from hops.run.documents.gate import Gate
from hops.tables.view import SummaryView

MAX_FAILURES = 10
"""Maximum number of reasons to show; the summary may have more."""


def validity_elements(view: SummaryView) -> list[Element]:
    """Shows the verdict, every gate, what to do about failing gates, and why some were not checked."""
    elements: list[Element] = [Text(verdict_sentence(view.summary), tone="verdict")]
    if view.summary["blocks"] < 2:
        elements.append(Text("One block: no intervals over blocks, and no spread over them.", tone="note"))
    return [
        *elements,
        *gate_elements(view),
        *causes_elements(view),
        *left_out_elements(view),
    ]


def failing_elements(view: SummaryView) -> list[Element]:
    """Shows the verdict and, unless it is VALID, the failing gates, what to do, and each trial with its reasons."""
    elements: list[Element] = [Text(verdict_sentence(view.summary), tone="verdict")]
    is_failing = bool(failing_gates(view.summary["gates"]))
    elements += gate_elements(view, only_failing=True) if is_failing else []
    elements += causes_elements(view)
    trials = failing_trials(view.summary) if is_failing else []
    return [*elements, Heading("In which trials"), Points(trials, tone="sentences")] if trials else elements


def causes_elements(view: SummaryView) -> list[Element]:
    """Shows the programs that disturbed the run, why journeys failed, as recorded, and whose answers differ."""
    programs = view.summary.get("programs")
    elements: list[Element] = (
        [Text(f"Programs that used the processors: {programs_text(programs)}.")] if programs else []
    )
    if failures := view.summary.get("failures"):
        rows = [
            (f"{row['count']:,} {row['outcome'].replace('_', ' ')}, {row['topology']}, {row['journey']}", row["reason"])
            for row in failures[:MAX_FAILURES]
        ]
        elements += [Heading("Why journeys failed"), Terms(rows)]
    if differing := view.summary.get("differing"):
        rows = [
            (row["journey"], f"{plural(row['count'], 'journey')} of the tape" + _in_steps(row["steps"]))
            for row in differing
        ]
        elements += [Heading("Whose answers differ"), Terms(rows)]
    return elements


def _in_steps(steps: Sequence[int]) -> str:
    return f"; sent alone, in step {join_names([str(step) for step in steps])}" if steps else ""


def left_out_elements(view: SummaryView) -> list[Element]:
    """Describes which gates were not checked, and why."""
    by_reason: dict[str, list[str]] = {}
    for row in view.summary["gates_left_out"]:
        by_reason.setdefault(row["reason"], []).append(gate_name(row["name"]))
    left_out = [f"Not checked: {'; '.join(names)}: {reason}." for reason, names in by_reason.items()]
    return [Points(left_out, tone="note")] if left_out else []


def trust_elements(view: SummaryView) -> list[Element]:
    """Shows what follows an experiment's figures: the verdict, the gates, and each trial with a failing gate."""
    return [*validity_elements(view), Points(failing_trials(view.summary))]


def gate_elements(view: SummaryView, *, only_failing: bool = False) -> list[Element]:
    """Shows the gates, by the value of their worst trials, and what to do about failing gates."""
    fail = [kind_of(name) for name in failing_gates(view.summary["gates"])]
    remedies = [
        f"{'; '.join(kind.text for kind in fail if kind.remedy == remedy)}: {remedy}"
        for remedy in dict.fromkeys(kind.remedy for kind in fail if kind.remedy)
    ]
    table = gates_table(view, only_failing=only_failing)
    return [table, Heading("What to do about it"), Points(remedies)] if remedies else [table]


def gates_table(view: SummaryView, *, only_failing: bool = False, reasons: bool = False) -> Table:
    """Lists the gates, each with its worst trial's value; on request with reasons: a terminal has no room for them."""
    gates = [gate for gate in view.summary["gates"] if not (only_failing and gate["ok"])]
    columns: list[tuple[Column, Callable[[Gate], Cell]]] = [
        (Column("gate", numeric=False), lambda gate: words(kind_of(gate["name"]).text)),
        (Column("worst value"), lambda gate: Cell(kind_of(gate["name"]).number(gate["value"]), gate["value"])),
        (Column("limit"), lambda gate: Cell(kind_of(gate["name"]).limit_text(gate["limit"]), gate["limit"])),
        (Column("holds", numeric=False), lambda gate: words("yes") if gate["ok"] else words("FAILS", "bad")),
        (Column("if it fails", numeric=False, spare=1), lambda gate: words(kind_of(gate["name"]).fails)),
    ]
    if reasons:
        columns.append((Column("because", numeric=False, spare=9), lambda gate: words(kind_of(gate["name"]).why)))
    if only_failing:
        return table_of("gates_failed", "Gates that fail", gates, columns)
    trials = sum(row["topology"] is not None for row in view.summary["verdicts"])
    caption = "Gates" if trials == 1 else "Gates of the experiment, each by its worst trial"
    return table_of("gates", caption, gates, columns)
