"""Both measurements of what each step of a ladder adds, drawn."""

from __future__ import annotations

from hops.elements.element import Chart
from hops.kinds.ladder.conclusions import ladder_sentences, row_of
from hops.kinds.ladder.document import Ladder
from hops.report.chart import INK, PAPER, SOFT, Spec, draw
from hops.report.encodings import amount, layer, row_each

_MEASURED, _ATTRIBUTED = "measured", "attributed"
_OFFSETS = {_MEASURED: -6, _ATTRIBUTED: 6}
"""Vertical offsets from the middle of a step's row, in pixels."""


def ladder_chart(ladder: Ladder) -> Chart:
    """Draws both measurements of each step as points with intervals."""
    rows = [
        {"step": step["adds"], "kind": kind, "value": one["value"], "low": one["ci95"][0], "high": one["ci95"][1]}
        for step in ladder["steps"]
        if (row := row_of(step)) is not None
        for kind, one in ((_MEASURED, row["measured"]), (_ATTRIBUTED, row["attributed"]))
    ]
    x = amount("value", "ms", scale={"zero": True, "padding": 8}, tickCount=6)
    ends = {"x": {**x, "field": "low"}, "x2": {"field": "high"}}
    spec: Spec = {
        "width": 620,
        "height": {"step": 34},
        "encoding": {"y": row_each("step", list(dict.fromkeys(str(row["step"]) for row in rows)))},
        "layer": [
            layer("rule", {"x": amount("zero"), "y": None}, data=[{"zero": 0}], color=SOFT, strokeWidth=1),
            *(
                layer("rule", ends, only=f"datum.kind=='{kind}' && isValid(datum.low)", color=INK, yOffset=offset)
                for kind, offset in _OFFSETS.items()
            ),
            *(
                layer(
                    "point", {"x": x}, only=f"datum.kind=='{kind}'", color=INK, size=50, opacity=1, yOffset=offset,
                    fill=INK if kind == _MEASURED else PAPER,
                )
                for kind, offset in _OFFSETS.items()
            ),
        ],
    }  # fmt: skip
    return draw("What each step adds to the mean of all journeys", " ".join(ladder_sentences(ladder)), spec, rows)
