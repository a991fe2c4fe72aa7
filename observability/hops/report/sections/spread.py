"""All journeys and topologies at a glance: a heat map, and box plots that show where most latencies lie."""

from __future__ import annotations

from typing import Any

import numpy as np

from hops.elements import numbers
from hops.elements.element import Chart, Figures, Fold, Section, Text
from hops.elements.table import Cell, Column, Table, number, words
from hops.report.chart import PAPER, Spec, draw, milliseconds_axis
from hops.report.encodings import layer, topology_axis, topology_color
from hops.report.view import View, latencies_ms

SHADES = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0)
"""Limits of a cell's shade, by the ratio of its value to the lowest value in its row."""
_QUANTILES = {"p5": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95}


def heat_table(view: View, metric: str, title: str) -> Table:
    """Makes a table of journeys by topologies, in which each cell has a value and its shade."""
    rows = []
    for journey in view.journeys_and_all:
        values = {name: cell["latency_ms"].get(metric) for name, cell in view.cells(journey)}
        least = min((value for value in values.values() if value), default=None)
        rows.append([words(journey), *(_shade(values.get(name), least) for name in view.topologies)])
    columns = [Column("journey", numeric=False), *(Column(name) for name in view.topologies)]
    caption = f"{title} latency, ms; a stronger shade is longer, relative to the fastest of the row, 1×"
    return Table(f"heat_{metric}", view.mark_caption(caption), columns, rows, totals=1)


def _shade(value: float | None, least: float | None) -> Cell:
    if not value or not least:
        return number(value)
    times = value / least
    tone = f"heat{sum(times >= limit for limit in SHADES)}"
    return Cell(numbers.plain(value), value, tone=tone, note=f"{times:.1f}×" if times < 9.95 else f"{times:.0f}×")


def box_section(view: View) -> Section:
    """Makes the box plots."""
    return Section(
        "boxes",
        "Where most latencies lie",
        [
            Text(
                "The box holds the middle half of the journeys, the bar in it is the median, and the lines reach from "
                "the 5th to the 95th percentile. Logarithmic scale."
            ),
            Figures([box_chart(view, journey) for journey in view.journeys_and_all], view.topology_key),
            Fold("Percentiles behind the boxes", [box_table(view)]),
        ],
        detail=True,
    )


def box_chart(view: View, journey: str) -> Chart:
    """Draws a box per topology."""
    rows = _box_rows(view, journey)
    low = min((row["p5"] for row in rows), default=1.0) / 1.15
    high = max((row["p95"] for row in rows), default=10.0) * 1.15
    x = milliseconds_axis("p50", low, high)
    color = topology_color(view.looks)
    half, painted = {"x": {**x, "field": "p25"}, "x2": {"field": "p75"}}, {"stroke": color, "fill": color}
    spec: Spec = {
        "height": {"step": 26},
        "encoding": {"y": topology_axis(view)},
        "layer": [
            layer("rule", {"x": {**x, "field": "p5"}, "x2": {"field": "p95"}, "color": color}, strokeWidth=1.5),
            layer("bar", half, height=13, fill=PAPER),
            layer("bar", half | painted, height=13, strokeWidth=1.5, fillOpacity=0.22, strokeOpacity=1),
            layer("tick", {"x": x, "color": color}, thickness=3, size=13, opacity=1),
        ],
    }
    described = f"Boxes of the latency of {journey}, one per {view.compared.one}; figures in the table."
    return draw(journey, described, spec, rows)


def box_table(view: View) -> Table:
    """Lists the figures that the boxes show."""
    columns = [Column("journey", numeric=False), Column(view.compared.one, numeric=False)]
    columns += [Column(name, "ms") for name in _QUANTILES]
    rows = [
        [words(journey), view.name(row["topology"]), *(number(row[name]) for name in _QUANTILES)]
        for journey in view.journeys_and_all
        for row in _box_rows(view, journey)
    ]
    return Table("boxes", view.mark_caption("Percentiles behind the boxes, ms"), columns, rows, heads=2)


def _box_rows(view: View, journey: str) -> list[dict[str, Any]]:
    rows = []
    for name in view.topologies:
        values = latencies_ms(view, name, journey)
        if values.size:
            quantiles = np.quantile(values, list(_QUANTILES.values())).tolist()
            rows.append({"topology": name, **dict(zip(_QUANTILES, quantiles, strict=True))})
    return rows
