"""Whether the figures may be trusted: the verdict, the gates of the experiment, and every trial."""

from __future__ import annotations

from hops.elements import numbers
from hops.elements.element import Element, Points, Section, Text
from hops.elements.table import Cell, Column, Table, number, whole, words
from hops.gates.words import gate_name, gate_number, gate_text
from hops.report.view import View
from hops.run.documents import Gate


def section(view: View) -> Section:
    """Makes the section."""
    summary = view.summary
    elements: list[Element] = [Text(verdict_sentence(view), tone="verdict")]
    if summary["blocks"] < 2:
        elements.append(
            Text("One block: no intervals over blocks, and nothing to hold its spread against.", tone="note")
        )
    elements.append(gates_table(summary["gates"]))
    if summary["gates_left_out"]:
        left_out = [f"Left out: {gate_name(row['name'])}: {row['reason']}." for row in summary["gates_left_out"]]
        elements.append(Points(left_out, tone="note"))
    elements.append(trials_table(view))
    return Section("validity", "Can it be trusted?", elements)


def verdict_sentence(view: View) -> str:
    """VALID or SUSPECT, with the reasons."""
    summary = view.summary
    trials = len(view.run.trials)
    suspect = sum(not row["valid"] for row in summary["verdicts"] if row["topology"] is not None and row["used"])
    if summary["valid"]:
        return f"VALID: every gate holds, in {trials} {'trial' if trials == 1 else 'trials'}."
    reasons = [gate_name(gate["name"]) for gate in summary["gates"] if not gate["ok"]]
    why = "; ".join(reasons) or "a trial's gates fail"
    told = f"{suspect} of {trials} trials {'fails' if suspect == 1 else 'fail'} a gate"
    if not suspect:
        told = "Each trial by itself holds its gates"
    return f"SUSPECT: {why}. {told}: do not rely upon these figures."


def gates_table(gates: list[Gate]) -> Table:
    """The gates of the whole, each by its worst trial."""
    rows = []
    for gate in gates:
        text, relation = gate_text(gate["name"])
        value = "not measured" if gate["value"] is None else gate_number(gate["name"], gate["value"])
        limit = f"{relation} {gate_number(gate['name'], gate['limit'])}"
        rows.append([words(text), Cell(value, gate["value"]), Cell(limit, gate["limit"]), _holds(gate["ok"])])
    columns = [Column("gate", numeric=False), Column("worst value"), Column("limit"), Column("holds", numeric=False)]
    return Table("gates", "Gates of the experiment, each by its worst trial", columns, rows)


def trials_table(view: View) -> Table:
    """Every trial, also those that a later attempt replaces."""
    rows: list[list[Cell]] = []
    speeds = {(row["block"], row["topology"], row["attempt"]): row["machine_speed"] for row in view.summary["verdicts"]}
    # One speed alone says nothing.
    comparable = sum(speed is not None for speed in speeds.values()) > 1
    for trial in sorted(view.run.trials, key=lambda row: (row["block"], row["position"], row["attempt"])):
        reasons = [gate_name(gate["name"]) for gate in trial["gates"] if not gate["ok"]]
        generator = trial["generator"]
        speed = speeds[trial["block"], trial["topology"], trial["attempt"]]
        lag = generator.get("start_lag_p99_us")
        seconds = sum(trial["phases_s"].values())
        rows.append(
            [
                whole(trial["block"]),
                words(trial["topology"], view.mark(trial["topology"])),
                whole(trial["position"]),
                whole(trial["attempt"]),
                whole(generator.get("journeys")),
                number(None if lag is None else lag / 1e3),
                *([Cell("–" if speed is None else f"{speed:.0%}", speed)] if comparable else []),
                Cell(numbers.seconds(seconds), seconds),
                words("VALID" if trial["valid"] else "SUSPECT", "" if trial["valid"] else "bad"),
                words("; ".join(reasons) or ("–" if trial["used"] else "replaced by a later attempt")),
                words("yes" if trial["used"] else "no"),
            ]
        )
    columns = [
        Column("block"),
        Column("topology", numeric=False),
        Column("position"),
        Column("attempt"),
        Column("journeys"),
        Column("start lag p99", "ms"),
        *([Column("machine’s speed")] if comparable else []),
        Column("took"),
        Column("verdict", numeric=False),
        Column("reasons", numeric=False),
        Column("counts", numeric=False),
    ]
    return Table("trials", "Trials, in the order of the blocks", columns, rows, heads=2)


def _holds(ok: bool) -> Cell:
    return words("yes") if ok else words("FAILS", "bad")
