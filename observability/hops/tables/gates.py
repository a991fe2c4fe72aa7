"""Whether the figures can be trusted: the verdict and the gates of the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

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
        *gate_elements(view.summary["gates"], _trials(view)),
        *causes_elements(view),
        *left_out_elements(view),
    ]


def failing_elements(view: SummaryView) -> list[Element]:
    """Shows the verdict and, unless it is VALID, the failing gates, what to do, and each trial with its reasons."""
    elements: list[Element] = [Text(verdict_sentence(view.summary), tone="verdict")]
    failing = [gate for gate in view.summary["gates"] if not gate["ok"]]
    elements += [
        replace(one, key="gates_failed", caption="Gates that fail") if isinstance(one, Table) else one
        for one in (gate_elements(failing, _trials(view)) if failing else ())
    ]
    elements += causes_elements(view)
    trials = failing_trials(view.summary) if failing else []
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


def every_gate(view: SummaryView) -> Table:
    """Lists every gate of the run."""
    return gates_table(view.summary["gates"], _trials(view), reasons=True)


def _trials(view: SummaryView) -> int:
    return sum(row["topology"] is not None for row in view.summary["verdicts"])


def trust_elements(view: SummaryView) -> list[Element]:
    """Shows what follows an experiment's figures: the verdict, the gates, and each trial with a failing gate."""
    return [*validity_elements(view), Points(failing_trials(view.summary))]


def gate_elements(gates: Sequence[Gate], trials: int) -> list[Element]:
    """Shows every gate, by the value of its worst trial, and what to do about failing gates."""
    fail = [kind_of(name) for name in failing_gates(gates)]
    remedies = [
        f"{'; '.join(kind.text for kind in fail if kind.remedy == remedy)}: {remedy}"
        for remedy in dict.fromkeys(kind.remedy for kind in fail if kind.remedy)
    ]
    table = gates_table(gates, trials)
    return [table, Heading("What to do about it"), Points(remedies)] if remedies else [table]


def gates_table(gates: Sequence[Gate], trials: int, *, reasons: bool = False) -> Table:
    """Lists the gates, each with its worst trial's value; on request with reasons: a terminal has no room for them."""
    columns: list[tuple[Column, Callable[[Gate], Cell]]] = [
        (Column("gate", numeric=False), lambda gate: words(kind_of(gate["name"]).text)),
        (Column("worst value"), lambda gate: Cell(kind_of(gate["name"]).number(gate["value"]), gate["value"])),
        (Column("limit"), lambda gate: Cell(kind_of(gate["name"]).limit_text(gate["limit"]), gate["limit"])),
        (Column("holds", numeric=False), lambda gate: words("yes") if gate["ok"] else words("FAILS", "bad")),
        (Column("if it fails", numeric=False, spare=1), lambda gate: words(kind_of(gate["name"]).fails)),
    ]
    if reasons:
        columns.append((Column("because", numeric=False, spare=9), lambda gate: words(kind_of(gate["name"]).why)))
    caption = "Gates" if trials == 1 else "Gates of the experiment, each by its worst trial"
    return table_of("gates", caption, gates, columns)
