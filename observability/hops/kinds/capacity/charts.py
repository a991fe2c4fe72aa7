"""Curves of a capacity run, drawn like the other charts of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hops.elements.element import Chart, Figures
from hops.kinds.capacity.document import Capacity, Step, by_load, capacity_of, load_of
from hops.report.chart import PAPER, SOFT, Spec, draw, ticks
from hops.report.encodings import amount, layer
from hops.report.palette import looks
from hops.report.view import View

CURVE_WIDTH, CURVE_HEIGHT = 300, 190


def picture(view: View) -> Figures:
    """Draws every curve over the load, with a legend."""
    capacity = capacity_of(view.summary)
    key = [(f"mark t{look.index % 8}", look.name) for look in looks(list(capacity["results"]))]
    objective = capacity["asked"]["objective_ms"]
    if objective is not None:
        key.append(("line dashed", f"objective, {objective:,g} ms"))
    load = "number of users" if capacity["asked"]["load"] == "stress" else "rate"
    drawn: list[tuple[str, Callable[[Step], float | None], str]] = [
        ("p99", lambda step: step["latency_ms"]["p99"], "ms"),
        ("Median", lambda step: step["latency_ms"]["p50"], "ms"),
        ("Failures", lambda step: 100 * sum(step["errors"].values()) / max(step["journeys"], 1), "percent"),
        ("CPU of the shop", lambda step: step["cores"]["total"], "cores"),
        ("CPU of the generator", lambda step: step["cores"]["generator"], "cores"),
    ]
    if capacity["asked"]["load"] != "sweep":
        drawn.insert(0, ("Journeys that ended ok", lambda step: step["throughput_per_s"], "a second"))
    charts = [
        _curve(capacity, f"{title} over the {load}", figure, unit, objective if title == "p99" else None)
        for title, figure, unit in drawn
    ]
    text = "A hollow point is a step in which the generator was at its limit: it shows what the two do together."
    return Figures([chart for chart in charts if chart is not None], key, text)


def _curve(
    capacity: Capacity, title: str, figure: Callable[[Step], float | None], unit: str, objective: float | None
) -> Chart | None:
    rows: list[dict[str, Any]] = []
    for name in list(capacity["results"]):
        for order, step in enumerate(by_load(capacity, name)):
            value = figure(step)
            if value is not None:
                row = {"topology": name, "load": load_of(step), "value": float(f"{value:.4g}"), "order": order}
                rows.append({**row, "limited": bool(step["limits"])})
    if not rows:
        return None
    values = [row["value"] for row in rows] + ([] if objective is None else [objective])
    if unit == "ms":
        y = _logarithmic("value", unit, max(0.1, min(values) * 0.8), max(values) * 1.25)
    else:
        y = amount("value", unit, scale={"domain": [0, max(*values, 0.1) * 1.08], "nice": False}, tickCount=4)
    loads = [row["load"] for row in rows]
    load = "virtual users" if capacity["asked"]["load"] == "stress" else "journeys a second"
    x = _logarithmic("load", load, min(loads) * 0.9, max(loads) * 1.1, grid=False)
    layers = list(_lines(capacity, rows, x, y))
    if objective is not None:
        data = [{"value": objective}]
        layers.append(layer("rule", {"y": y}, data=data, strokeDash=[5, 4], color=SOFT, strokeWidth=1.5))
    described = "; ".join(
        f"{name}: " + ", ".join(f"{row['load']:g} {row['value']:g}" for row in rows if row["topology"] == name)
        for name in list(capacity["results"])
    )
    spec: Spec = {"width": CURVE_WIDTH, "height": CURVE_HEIGHT, "layer": layers}
    return draw(title, f"{title}, {unit}. {described}.", spec)


def _logarithmic(field: str, title: str, low: float, high: float, **axis: Any) -> Spec:
    scale = {"type": "log", "domain": [low, high], "nice": False}
    return amount(field, title, scale=scale, values=ticks(low, high), format="~r", **axis)


def _lines(capacity: Capacity, rows: list[dict[str, Any]], x: Spec, y: Spec) -> Iterator[Spec]:
    order = {"field": "order", "type": "quantitative"}
    for look in looks(list(capacity["results"])):
        own = [row for row in rows if row["topology"] == look.name]
        dash = [] if look.dash == (1, 0) else list(look.dash)
        encoding = {"x": x, "y": y, "order": order}
        yield layer("line", encoding, data=own, strokeWidth=1.8, color=look.color, strokeDash=dash)
        for limited in (False, True):
            some = [row for row in own if row["limited"] is limited]
            fill = {"fill": PAPER, "strokeWidth": 2} if limited else {"filled": True}
            point: Spec = {"shape": look.shape, "size": 42, "opacity": 1, "color": look.color, **fill}
            if some:
                yield layer("point", {"x": x, "y": y}, data=some, **point)
