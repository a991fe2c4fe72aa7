"""The effect of load, drawn: latency and CPU over the rate."""

from __future__ import annotations

from typing import Any

from hops.elements.element import Chart, Figures
from hops.kinds.rates.document import rates_of
from hops.report.chart import Spec, bounds, draw, milliseconds_axis
from hops.report.encodings import amount, layer, topology_color, topology_dash, topology_shape
from hops.report.palette import Look, looks
from hops.report.view import View
from hops.units import ALL

_METRICS = ("p50", "mean", "p99")


def charts(view: View) -> Figures:
    """Draws p50, mean and p99 of all journeys, and CPU per journey, over the rate, with a line per topology."""
    drawn = looks(list(dict.fromkeys(arm["topology"] for arm in rates_of(view.summary)["arms"])))
    key = [(f"mark t{look.index % 8}", look.name) for look in drawn]
    return Figures(
        [*(_latency(view, drawn, metric) for metric in _METRICS), _cpu(view, drawn)],
        key,
        "Of all journeys, over the rate; each line in its 95 % interval over blocks. Latency on a logarithmic scale.",
    )


def _latency(view: View, drawn: list[Look], metric: str) -> Chart:
    rows = []
    for arm in rates_of(view.summary)["arms"]:
        cell = view.summary["topologies"][arm["label"]]["journeys"][ALL]
        low, high = cell["latency_ci95"][metric]
        rows.append(_row(arm["topology"], arm["rate"], cell["latency_ms"][metric], low, high))
    known = [row for row in rows if row["value"] is not None]
    ends = bounds((row[key] for row in known for key in ("value", "low", "high")), above=1.2)
    y = milliseconds_axis("value", *ends)
    return _curves(f"{metric} over the rate", known, y, drawn)


def _cpu(view: View, drawn: list[Look]) -> Chart:
    rows = [
        _row(arm["topology"], arm["rate"], cpu["value"], *cpu["ci95"])
        for arm in rates_of(view.summary)["arms"]
        if (cpu := arm["cpu_ms"]) is not None
    ]
    y = amount("value", "ms", scale={"zero": True}, tickCount=4)
    return _curves("CPU of a journey over the rate", rows, y, drawn)


def _row(topology: str, rate: float, value: float | None, low: float | None, high: float | None) -> dict[str, Any]:
    return {"topology": topology, "rate": rate, "value": value, "low": low, "high": high}


def _curves(title: str, rows: list[dict[str, Any]], y: Spec, drawn: list[Look]) -> Chart:
    x = amount("rate", "journeys a second", scale={"zero": True, "nice": False}, grid=False, tickCount=6)
    color = topology_color(drawn)
    band = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": color}
    points = {"x": x, "y": y, "color": color, "shape": topology_shape(drawn)}
    known = "isValid(datum.low) && isValid(datum.high)"
    spec: Spec = {
        "height": 190,
        "layer": [
            layer("area", band, only=known, opacity=0.15),
            layer("line", {"x": x, "y": y, "color": color, "strokeDash": topology_dash(drawn)}, strokeWidth=2),
            layer("point", points, filled=True, size=40, opacity=1),
        ],
    }
    described = "; ".join(
        f"{name}: " + ", ".join(f"{row['rate']:g} {row['value']:.3g}" for row in rows if row["topology"] == name)
        for name in (look.name for look in drawn)
    )
    return draw(title, f"{title}, ms. {described}.", spec, rows)
