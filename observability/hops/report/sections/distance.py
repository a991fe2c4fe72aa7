"""The effect of the customers' distance: medians over the round-trip time, and where the ranking flips."""

from __future__ import annotations

from typing import Any

import numpy as np

from hops.conclusions.distance import break_even_words, turn_sentences
from hops.elements.element import Chart, Element, Figures, Fold, Heading, Points, Section, Text
from hops.report.chart import GRID, INK, PAPER, SOFT, Spec, bounds, draw, milliseconds_axis
from hops.report.encodings import layer, topology_color, topology_dash, topology_shape
from hops.report.view import View
from hops.run.documents.distance import BreakEven, Distance, JourneyDistance
from hops.tables.distance import MODEL, break_even_elements, channel_table, model_elements, named_table, networks_text
from hops.units import ALL

_TICKS = (0, 2, 5, 10, 20, 50, 100, 200)
_BEND_MS = 5
"""Round-trip time below which the axis is nearly linear, and above which it is nearly logarithmic."""
_NEAREST_MARKED_MS = 1.5
"""Named networks nearer than this are not marked: all of them are at the left edge of the chart."""


def section(view: View, distance: Distance) -> Section:
    """Makes the section on the distance of customers."""
    differ = "" if view.is_alone else f", and {view.compared.many} differ in how many a journey needs"
    elements: list[Element] = [Text(f"On one machine a round trip is free. To a customer it is not{differ}. {MODEL}")]
    rings = "" if view.is_alone else "Rings: break-even distances that are shown, with their 95 % intervals. "
    sentences = turn_sentences(view.summary, distance)
    elements += [Points(sentences, tone="sentences")] if sentences else []
    elements += [
        Heading("p50 over the round-trip time"),
        Figures(
            [
                distance_chart(view, distance, journey)
                for journey in (ALL, *view.journeys)
                if (one := distance["journeys"].get(journey)) and one["curves"]
            ],
            view.topology_key,
            "Lines: predicted p50 at the bandwidth of the run, each in its 95 % interval. Points: measured, likewise. "
            f"{rings}Dashed: round-trip times of the networks that have names. Both scales show ratios"
            + (
                ": lines of equal round trips draw nearer to each other because their difference matters less."
                if len(view.topologies) > 1
                else "."
            ),
        ),
    ]
    pairs = break_even_elements(view, distance)
    elements += [Heading("Break-even distances"), *pairs] if pairs else []
    elements += [
        Heading("At networks that have names"),
        named_table(view, distance, [ALL], "distance_named_all"),
        *([channel_table(view, distance)] if distance["channels"] else []),
        Fold(
            "Every journey, and what the networks are",
            [named_table(view, distance, view.journeys_and_all, "distance_named"), networks_text(distance["named"])],
        ),
        Fold("What the model includes and omits: own time, round trips and bytes", model_elements(view, distance)),
    ]
    return Section("distance", "How far away are your customers?", elements)


def distance_chart(view: View, distance: Distance, journey: str) -> Chart:
    """Draws p50 of one journey over the round-trip time, with a line per topology."""
    one, grid = distance["journeys"][journey], distance["grid_ms"]
    rows: list[dict[str, Any]] = [
        {"topology": name, "rtt": rtt, "ms": ms, "low": low, "high": high}
        for name, curve in one["curves"].items()
        for rtt, ms, (low, high) in zip(grid, curve, one["curves_ci95"][name], strict=True)
    ]
    measured: list[dict[str, Any]] = [
        {"topology": name, "rtt": point["rtt_ms"], "ms": point["value"], "low": low, "high": high}
        for name, points in one["measured"].items()
        for point in points
        for low, high in (point["ci95"],)
    ]
    rings = [
        {"rtt": row["at_ms"], "low": low or grid[0], "high": high or grid[-1], "ms": _level(one, grid, row)}
        for row in one["pairs"]
        for low, high in (row["ci95_ms"],)
        if row["verdict"] == "from" and row["at_ms"] is not None
    ]
    low, high = bounds((row[key] for row in (*rows, *measured) for key in ("ms", "low", "high")), above=1.6)
    y = milliseconds_axis("ms", low, high, "p50, ms")
    x: Spec = {
        "field": "rtt",
        "type": "quantitative",
        "scale": {"type": "symlog", "constant": _BEND_MS, "domain": [grid[0], grid[-1]], "nice": False},
        "axis": {"title": "round-trip time, ms", "values": list(_TICKS), "grid": False},
    }
    networks = [
        {"rtt": place["network"]["rtt_ms"], "text": name, "ms": high}
        for name, place in distance["named"].items()
        if place["network"] and _NEAREST_MARKED_MS <= place["network"]["rtt_ms"] <= grid[-1]
    ]
    color = topology_color(view.looks)
    band = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": color}
    names = {"x": x, "y": y, "text": {"field": "text"}}
    points = {"x": x, "y": y, "color": color, "shape": topology_shape(view.looks)}
    spec: Spec = {
        "height": 190,
        "layer": [
            layer("rule", {"x": x}, data=networks, color=GRID, strokeDash=[3, 3]),
            layer("text", names, data=networks, color=SOFT, fontSize=10, align="left", baseline="top", dx=3),
            layer("area", band, only="isValid(datum.low) && isValid(datum.high)", opacity=0.15),
            layer("line", {"x": x, "y": y, "color": color, "strokeDash": topology_dash(view.looks)}, strokeWidth=2),
            layer("rule", band, data=measured, only="isValid(datum.low) && isValid(datum.high)"),
            layer("point", points, data=measured, filled=True, size=44, opacity=1),
            layer("rule", {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y}, data=rings, color=INK),
            layer("point", {"x": x, "y": y}, data=rings, color=INK, fill=PAPER, size=50, strokeWidth=1.6, opacity=1),
        ],
    }
    break_evens = "; ".join(f"{row['left']} against {row['right']}: {break_even_words(row)}" for row in one["pairs"])
    described = f"p50 of {journey} over the round-trip time, a line per {view.compared.one}"
    return draw(journey, f"{described}. {break_evens}." if break_evens else f"{described}.", spec, rows)


def _level(one: JourneyDistance, grid: list[float], row: BreakEven) -> float:
    """Gives the vertical position of a break-even: the value of both curves there."""
    return float(np.interp(row["at_ms"] or 0.0, grid, one["curves"][row["left"]]))
