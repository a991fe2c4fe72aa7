"""Chart of a run with faults: how long each fault lasted, and how long journeys failed."""

from __future__ import annotations

from hops.elements.element import Figures
from hops.kinds.chaos.document import struck_of
from hops.report.chart import INK, SOFT, Spec, draw
from hops.report.encodings import amount, label, layer, row_each
from hops.report.view import View

MAX_ROWS = 20
ROW_HEIGHT = 22


def picture(view: View) -> Figures:
    """Draws a row for each of the faults that made journeys fail for longest."""
    failing = sorted((one for one in struck_of(view.summary) if one["failed"]), key=lambda one: -one["failing_s"])
    rows = [
        {
            "name": f"{one['topology']} {one['fault']}"
            + (f", block {one['block']}" if view.summary["blocks"] > 1 else ""),
            "lasted": round(one["lasted_s"], 2),
            "failing": round(one["failing_s"], 2),
            "end": round(max(one["lasted_s"], one["failing_s"]), 2),
            "text": f"{sum(one['failed'].values()):,} failed",
        }
        for one in failing[:MAX_ROWS]
    ]
    if not rows:
        return Figures([], [], "No journey failed because of a fault.")
    y = row_each("name", [str(row["name"]) for row in rows])
    room = 1.25 * max(max(one["lasted_s"], one["failing_s"]) for one in failing[:MAX_ROWS])
    x = amount("lasted", "seconds from the start of the fault", scale={"domain": [0, room], "nice": False}, tickCount=5)
    layers = [
        layer("bar", {"x": x, "y": y}, color=SOFT, opacity=0.4),
        layer("bar", {"x": {**x, "field": "failing"}, "y": y}, color=INK, height={"band": 0.35}),
        label({"x": {**x, "field": "end"}, "y": y}),
    ]
    spec: Spec = {"height": ROW_HEIGHT * len(rows), "layer": layers}
    described = "; ".join(f"{row['name']}: lasted {row['lasted']} s, failing for {row['failing']} s" for row in rows)
    title = "How long journeys failed"
    most = "" if len(failing) <= MAX_ROWS else f" The {MAX_ROWS} longest of {len(failing)} are shown."
    text = f"Pale: how long the fault lasted. Dark: until the last journey that failed arrived.{most}"
    return Figures([draw(title, f"{title}. {described}.", spec, rows)], [], text)
