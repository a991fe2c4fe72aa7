"""Latency of each journey: percentiles with their intervals, and the whole distribution."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from hops.elements import numbers
from hops.elements.element import Chart, Element, Figures, Fold, Heading, Section
from hops.report.chart import PAPER, Spec, bounds, draw, milliseconds_axis
from hops.report.encodings import amount, layer, topology_axis, topology_color, topology_dash, topology_shape
from hops.report.sections.spread import heat_table
from hops.report.view import View, latencies_ms
from hops.tables.latency import comparison_table, latency_table, latency_text

_NINES = np.concatenate([np.linspace(0, 1, 25), np.linspace(1, 3, 37)[1:]])
"""-log10 of the share of slower journeys: 0 is the minimum, 1 is p90, 2 is p99, 3 is p99.9."""
_OFFSETS = {"p50": -6, "p99": 6}
"""Offset of the median above, and of p99 below, the middle of a topology's row, in pixels."""
_PERCENT_LABELS = "datum.value==0?'0':datum.value==1?'90':datum.value==2?'99':'99.9'"


def picture(view: View) -> Figures:
    """Draws median and p99 of each journey and topology, with their intervals."""
    intervals = "over blocks" if view.summary["blocks"] > 1 else "within the one block"
    return Figures(
        [interval_chart(view, journey) for journey in view.journeys_and_all],
        view.topology_key,
        "Filled marks are medians and hollow ones p99, left out if it has no interval, each with its 95 % interval "
        f"{intervals}, on a logarithmic scale.",
    )


def section(view: View) -> Section:
    """Makes the section on latencies."""
    elements: list[Element] = [
        latency_text(view),
        *([heat_table(view, "p99", "p99")] if len(view.looks) > 1 else []),
        Heading("The whole distribution, up to p99.9"),
        Figures(
            [percentile_chart(view, journey) for journey in view.journeys_and_all],
            view.topology_key,
            "Percentage of journeys that took at most this long. Both scales are logarithmic: each step to the right "
            "leaves a tenth of the journeys above it. A line ends where a single journey would decide it.",
        ),
        Heading("Figures"),
        latency_table(view),
        *([] if view.is_alone else [Fold(f"Every comparison of two {view.compared.many}", [comparison_table(view)])]),
    ]
    return Section("latency", "Latency of each journey", elements)


def interval_chart(view: View, journey: str) -> Chart:
    """Draws median and p99 of one journey with their intervals, with a row per topology."""
    rows = list(_interval_rows(view, journey))
    low, high = bounds(row[key] for row in rows for key in ("value", "low", "high"))
    for row in rows:
        row["open_low"], row["open_high"] = row["low"] or low, row["high"] or high
    x = milliseconds_axis("value", low, high)
    spec: Spec = {
        "height": {"step": 31},
        "encoding": {"y": topology_axis(view), "color": topology_color(view.looks)},
        "layer": [layer for metric, offset in _OFFSETS.items() for layer in _interval_layers(view, x, metric, offset)],
    }
    described = "; ".join(
        f"{row['topology']} {row['metric']} {numbers.plain(row['value'])} ms"
        + (f" ({numbers.interval((row['low'], row['high']))})" if row["low"] or row["high"] else "")
        for row in rows
    )
    return draw(journey, f"Median and p99 of {journey}: {described}.", spec, rows)


def percentile_chart(view: View, journey: str) -> Chart:
    """Draws latency over the percentile, with a line per topology."""
    rows: list[dict[str, Any]] = []
    for look in view.looks:
        values = latencies_ms(view, look.name, journey)
        if not values.size:
            continue
        reach = min(3.0, math.log10(values.size)) if values.size > 1 else 0.0
        nines = np.append(_NINES[reach > _NINES], reach)
        latencies = np.quantile(values, 1 - 10.0**-nines)
        marked = (nines > 0) & (np.abs(nines - np.round(nines)) < 1e-9)
        rows += [
            {"topology": look.name, "nines": round(n, 3), "ms": float(f"{ms:.4g}"), "at": at}
            for n, ms, at in zip(nines.tolist(), latencies, marked.tolist(), strict=True)
        ]
    y = milliseconds_axis("ms", *bounds(row["ms"] for row in rows))
    scale, at = {"domain": [0, 3]}, [0, 1, 2, 3]
    x = amount("nines", "percent of journeys", scale=scale, values=at, labelExpr=_PERCENT_LABELS, grid=True)
    spec: Spec = {
        "height": 150,
        "encoding": {"x": x, "y": y, "color": topology_color(view.looks)},
        "layer": [
            layer("line", {"strokeDash": topology_dash(view.looks)}, strokeWidth=2, interpolate="monotone"),
            layer("point", {"shape": topology_shape(view.looks)}, only="datum.at", filled=True, size=34, opacity=1),
        ],
    }
    described = f"Latency of {journey} over percentiles, a line per {view.compared.one}; figures in the table."
    return draw(journey, described, spec, rows)


def _interval_rows(view: View, journey: str) -> Iterator[dict[str, Any]]:
    for name, cell in view.cells(journey):
        for metric in ("p50", "p99"):
            value = cell["latency_ms"].get(metric)
            if value is not None:
                low, high = cell["latency_ci95"].get(metric) or (None, None)
                if metric == "p99" and (low is None or high is None):
                    continue
                yield {"topology": name, "metric": metric, "value": value, "low": low, "high": high}


def _interval_layers(view: View, x: Spec, metric: str, offset: int) -> list[Spec]:
    of, low, high = f"datum.metric=='{metric}'", "isValid(datum.low)", "isValid(datum.high)"
    ends = {"x": {**x, "field": "open_low"}, "x2": {"field": "open_high"}}
    point = {"filled": True, "size": 64} if metric == "p50" else {"size": 52, "strokeWidth": 2, "fill": PAPER}
    return [
        layer("rule", ends, only=f"{of} && {low} != {high}", strokeWidth=1.5, strokeDash=[2, 3], yOffset=offset),
        layer("rule", ends, only=f"{of} && {low} && {high}", strokeWidth=2.5, yOffset=offset),
        layer("point", {"x": x, "shape": topology_shape(view.looks)}, only=of, opacity=1, yOffset=offset, **point),
    ]
