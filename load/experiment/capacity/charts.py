"""The curves of a sweep or a stress test, by the report's own charts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from experiment.capacity.document import Document
from experiment.capacity.step import Step
from experiment.capacity.terminal import by_load, load_of, topologies
from hops.elements.element import Chart, Figures
from hops.report.chart import PAPER, SOFT, Spec, draw, ticks
from hops.report.palette import Look, looks

CURVE_WIDTH, CURVE_HEIGHT = 300, 190
GENERATOR_NOTE = "the generator was at its limit"


def figures(document: Document) -> Figures:
    """Every chart of a run, with what its marks stand for."""
    key = [(f"mark t{look.index % 8}", look.name) for look in looks(topologies(document))]
    objective = document["options"].get("objective_ms")
    if objective is not None:
        key.append(("line dashed", f"objective, {objective:g} ms"))
    load = "rate" if document["kind"] == "sweep" else "number of users"
    charts = [
        _curve(
            document, f"p99 over the {load}", lambda step: step["p99_ms"], "ms", objective=objective, logarithmic=True
        ),
        _curve(document, f"Median over the {load}", lambda step: step["p50_ms"], "ms", logarithmic=True),
        _curve(document, f"Failures over the {load}", lambda step: 100 * (step["failure_share"] or 0.0), "percent"),
        _curve(document, f"CPU of the shop over the {load}", lambda step: step["system_cores"], "cores"),
        _curve(document, f"CPU of the generator over the {load}", lambda step: step["generator_cores"], "cores"),
    ]
    if document["kind"] == "stress":
        ok = _curve(
            document, f"Journeys that ended ok over the {load}", lambda step: step["throughput_per_s"], "a second"
        )
        charts.insert(0, ok)
    text = f"A hollow point is a step in which {GENERATOR_NOTE}: it says what the two together do."
    return Figures([chart for chart in charts if chart is not None], key, text)


def _curve(
    document: Document,
    title: str,
    figure: Callable[[Step], float | None],
    unit: str,
    *,
    objective: float | None = None,
    logarithmic: bool = False,
) -> Chart | None:
    found = looks(topologies(document))
    rows: list[dict[str, Any]] = []
    for look in found:
        for order, step in enumerate(by_load(document, look.name)):
            value = figure(step)
            if value is not None:
                row = {"topology": look.name, "load": load_of(step), "value": float(f"{value:.4g}"), "order": order}
                rows.append({**row, "limited": bool(step["generator_limits"])})
    if not rows:
        return None
    y: Spec = {"field": "value", "type": "quantitative"}
    values = [row["value"] for row in rows] + ([objective] if objective is not None else [])
    if logarithmic:
        low, high = max(0.1, min(values) * 0.8), max(values) * 1.25
        y |= {"scale": {"type": "log", "domain": [low, high], "nice": False}}
        y |= {"axis": {"title": unit, "values": ticks(low, high), "format": "~r"}}
    else:
        y |= {
            "scale": {"domain": [0, max(*values, 0.1) * 1.08], "nice": False},
            "axis": {"title": unit, "tickCount": 4},
        }
    loads = [row["load"] for row in rows]
    low, high = min(loads) * 0.9, max(loads) * 1.1
    x: Spec = {
        "field": "load",
        "type": "quantitative",
        "scale": {"type": "log", "domain": [low, high], "nice": False},
        "axis": {
            "title": "journeys a second" if document["kind"] == "sweep" else "virtual users",
            "values": ticks(low, high),
            "format": "~r",
            "grid": False,
        },
    }
    layers = _lines(found, rows, x, y)
    if objective is not None:
        rule = {"type": "rule", "strokeDash": [5, 4], "color": SOFT, "strokeWidth": 1.5}
        layers.append({"data": {"values": [{"value": objective}]}, "mark": rule, "encoding": {"y": y}})
    described = "; ".join(
        f"{look.name}: "
        + ", ".join(f"{row['load']:g} {row['value']:g}" for row in rows if row["topology"] == look.name)
        for look in found
    )
    spec: Spec = {"width": CURVE_WIDTH, "height": CURVE_HEIGHT, "layer": layers}
    return draw(title, f"{title}, {unit}. {described}.", spec)


def _lines(found: list[Look], rows: list[dict[str, Any]], x: Spec, y: Spec) -> list[Spec]:
    layers: list[Spec] = []
    for look in found:
        own = [row for row in rows if row["topology"] == look.name]
        dash = [] if look.dash == (1, 0) else list(look.dash)
        line: Spec = {"type": "line", "strokeWidth": 1.8, "color": look.color, "strokeDash": dash}
        order = {"field": "order", "type": "quantitative"}
        layers.append({"data": {"values": own}, "mark": line, "encoding": {"x": x, "y": y, "order": order}})
        for limited in (False, True):
            some = [row for row in own if row["limited"] is limited]
            point: Spec = {"type": "point", "shape": look.shape, "size": 42, "opacity": 1, "color": look.color}
            point |= {"fill": PAPER, "strokeWidth": 2} if limited else {"filled": True}
            if some:
                layers.append({"data": {"values": some}, "mark": point, "encoding": {"x": x, "y": y}})
    return layers
