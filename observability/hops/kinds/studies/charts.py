"""Charts of measured and published effects: a row per claim, on a logarithmic scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hops.elements import numbers
from hops.elements.element import Chart, Figures
from hops.kinds.studies.document import OUTCOMES, Replayed, replayed_in
from hops.kinds.studies.tables import cite
from hops.kinds.studies.verdict import ends_of
from hops.report.chart import INK, SOFT, Spec, draw, ticks
from hops.report.encodings import amount, kinds, layer, row_each
from hops.report.palette import looks
from hops.report.view import View

_COLORS = {"holds": "ink", "contradicted": "bad", "not shown": "soft"}
_DRAWN = [replace(look, color=f"var(--{_COLORS[look.name]})") for look in looks(OUTCOMES[:3])]
"""Looks of the outcomes that are drawn; claims that are not comparable have nothing to draw."""


def picture(view: View) -> Figures:
    """Draws the claims of each study."""
    return effects([(cite(one["study"]), one) for one in replayed_in(view.summary)])


def effects(studies: Sequence[tuple[str, Replayed]]) -> Figures:
    """Draws a chart for each study with an effect to show; each study comes after the title of its chart."""
    charts = [_chart(title, rows) for title, replayed in studies if (rows := _rows(replayed))]
    key = [(f"mark t{look.index} {_COLORS[look.name]}", look.name) for look in _DRAWN]
    return Figures(
        charts,
        [*key, ("line plain", "published")],
        "Left divided by right of each claim, with its 95 % interval over blocks, on a logarithmic scale; the dashed "
        "line is no effect. Upright strokes are the published ratios.",
    )


def _rows(replayed: Replayed) -> list[dict[str, Any]]:
    rows = []
    for verdict in replayed["verdicts"]:
        effect, value = verdict["effect"], verdict["claim"]["value"]
        if effect is None or verdict["difference"] or not effect["value"]:
            continue
        low, high = effect["ci95"]
        first, last = (None, None) if value is None else ends_of(value)
        row = {"claim": verdict["claim"]["id"], "outcome": verdict["outcome"], "value": float(f"{effect['value']:.4g}")}
        rows.append({**row, "low": low, "high": high, "first": first, "last": last})
    return rows


def _chart(title: str, rows: list[dict[str, Any]]) -> Chart:
    ends = [row[key] for row in rows for key in ("value", "low", "high", "first", "last") if row[key]]
    low, high = min(*ends, 0.9) / 1.15, max(*ends, 1.1) * 1.15
    scale = {"type": "log", "domain": [low, high], "nice": False}
    x = amount("value", "times", scale=scale, values=ticks(low, high), format="~r")
    names = [look.name for look in _DRAWN]
    color = kinds("outcome", names, [look.color for look in _DRAWN])
    shape = kinds("outcome", names, [look.shape for look in _DRAWN])
    ends_of_effects = {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "color": color}
    known = "isValid(datum.low) && isValid(datum.high)"
    spec: Spec = {
        "height": {"step": 18},
        "encoding": {"y": row_each("claim", [row["claim"] for row in rows])},
        "layer": [
            layer("rule", {"x": x, "y": {}}, data=[{"value": 1}], strokeDash=[5, 4], color=SOFT, strokeWidth=1.5),
            *(
                layer("tick", {"x": {**x, "field": end}}, only=f"isValid(datum.{end})", color=INK, thickness=2, size=14)
                for end in ("first", "last")
            ),
            layer("rule", ends_of_effects, only=known, strokeWidth=2.5),
            layer("point", {"x": x, "color": color, "shape": shape}, filled=True, size=60, opacity=1),
        ],
    }
    described = "; ".join(
        f"{row['claim']} {numbers.plain(row['value'])}"
        + (f" ({numbers.interval((row['low'], row['high']))})" if row["low"] else "")
        for row in rows
    )
    return draw(title, f"Left divided by right of each claim: {described}.", spec, rows)
