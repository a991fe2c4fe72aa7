"""Whether the figures can be trusted: the verdict, the gates of the experiment, and every trial."""

from __future__ import annotations

from hops.elements import numbers
from hops.elements.element import Fold, Section
from hops.elements.table import Cell, Column, Table, number, whole, words
from hops.gates.limits import gate_name
from hops.gates.verdict import failing_gates, verdict_of
from hops.report.view import View
from hops.run.documents.gate import VALID
from hops.tables.gates import failing_elements, gates_table, left_out_elements
from hops.tables.seconds import seconds_table


def section(view: View) -> Section:
    """Makes the section on whether the figures can be trusted."""
    seconds = seconds_table(view.run.trials, view.run.manifest, view.compared)
    folds = [
        Fold("Every gate", [gates_table(view, reasons=True), *left_out_elements(view)], opened=True),
        Fold("Every trial", [trials_table(view)], opened=True),
        Fold("Where the trials' seconds went", [seconds]),
    ]
    return Section("validity", "Can it be trusted?", [*failing_elements(view), *folds])


def trials_table(view: View) -> Table:
    """Lists every trial, including trials that a later attempt replaced."""
    rows: list[list[Cell]] = []
    speeds = {(row["block"], row["topology"], row["attempt"]): row["machine_speed"] for row in view.summary["verdicts"]}
    # A topology's only trial is its fastest, which says nothing.
    comparable = any(speed not in (None, 1.0) for speed in speeds.values())
    for trial in sorted(view.run.trials, key=lambda row: (row["block"], row["position"], row["attempt"])):
        reasons = [gate_name(name) for name in failing_gates(trial["gates"])]
        verdict = verdict_of(trial["gates"])
        speed = speeds[trial["block"], trial["topology"], trial["attempt"]]
        # The gate's value, from the rows; the generator reports another figure with the same name.
        lag = next((gate["value"] for gate in trial["gates"] if gate["name"] == "start_lag_p99_ms"), None)
        seconds = sum(trial["phases_s"].values())
        rows.append(
            [
                whole(trial["block"]),
                view.name(trial["topology"]),
                whole(trial["position"]),
                whole(trial["attempt"]),
                whole(trial["generator"].get("journeys")),
                number(lag),
                *([Cell(numbers.share(speed, 0), speed)] if comparable else []),
                Cell(numbers.seconds(seconds), seconds),
                words(verdict, "" if verdict == VALID else "bad"),
                words("; ".join(reasons) or (numbers.NOTHING if trial["used"] else "replaced by a later attempt")),
                words("yes" if trial["used"] else "no"),
            ]
        )
    columns = [Column("block"), Column(view.compared.one, numeric=False)]
    columns += [Column("position"), Column("attempt"), Column("journeys"), Column("start lag p99", "ms")]
    columns += [Column("machine’s speed")] if comparable else []
    columns += [Column("took"), *(Column(name, numeric=False) for name in ("verdict", "reasons", "counted"))]
    return Table("trials", "Trials, in the order of the blocks", columns, rows, heads=2)
