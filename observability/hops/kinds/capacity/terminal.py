"""A sweep or a stress test on a terminal."""

from __future__ import annotations

import math

from rich.console import Group

from hops.elements import numbers
from hops.elements.element import Text
from hops.kinds.capacity.document import Document, by_load, load_of, topologies
from hops.kinds.capacity.tables import mark, result_elements, steps_table, trust_elements
from hops.terminal.render import rendered

CURVE_CELLS = 44
CURVE_FROM_MS = 1.0
"""Left end of the curve's logarithmic scale, ms."""


def capacity_view(document: Document) -> Group:
    """The results, every step, p99 over the load, and whether to trust the figures."""
    curves = [Text(curve(document, name)) for name in topologies(document)]
    return rendered([*result_elements(document), steps_table(document), *curves, *trust_elements(document)])


def curve(document: Document, topology: str) -> str:
    """p99 over the load in plain text, a line for each step, on a logarithmic scale."""
    steps, objective = by_load(document, topology), document["options"].get("objective_ms")
    highest = max(10.0, objective or 0.0, *(step["latency_ms"]["p99"] or 0.0 for step in steps))
    top = 10.0 ** math.ceil(math.log10(highest))
    over = "number of users" if document["kind"] == "stress" else "rate"
    title = f"{topology}: p99 over the {over}, {CURVE_FROM_MS:g} to {top:g} ms, logarithmic"
    lines = [title + (f"; | is the objective, {objective:g} ms" if objective else "")]
    for step in steps:
        p99 = step["latency_ms"]["p99"]
        cells = ["█" if p99 is not None and at <= _cell(p99, top) else " " for at in range(CURVE_CELLS)]
        if objective is not None:
            cells[_cell(objective, top)] = "|"
        text = f"{load_of(step):>7g}  {''.join(cells)}  {numbers.plain(p99):>6}  {', '.join(mark(step))}"
        lines.append(text.rstrip())
    return "\n".join(lines)


def _cell(value: float, top: float) -> int:
    share = math.log10(max(value, CURVE_FROM_MS) / CURVE_FROM_MS) / math.log10(top / CURVE_FROM_MS)
    return min(CURVE_CELLS - 1, int(share * CURVE_CELLS))
