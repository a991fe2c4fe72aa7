"""The gates and the verdict, as a table for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group
from rich.text import Text

from hops.gates.words import gate_name, gate_number, gate_text, verdict
from hops.run.documents import Gate, LeftOut
from hops.terminal.tables import table_titled


def gates_table(gates: Sequence[Gate], left_out: Sequence[LeftOut] = ()) -> Group:
    """The gates with values and limits, those left out, and the verdict: VALID, or SUSPECT with its reasons."""
    table = table_titled("Gates")
    table.add_column("gate", overflow="fold")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("limit", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for gate in gates:
        text, relation = gate_text(gate["name"])
        value = "not measured" if gate["value"] is None else gate_number(gate["name"], gate["value"])
        limit = f"{relation} {gate_number(gate['name'], gate['limit'])}"
        table.add_row(text, value, limit, "ok" if gate["ok"] else "FAILS")
    lines = [Text(f"Left out: {gate_name(gate['name'])}: {gate['reason']}.") for gate in left_out]
    return Group(table, *lines, *([Text()] if lines else []), verdict(gates))
