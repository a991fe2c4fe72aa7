"""Latency of each journey: percentiles with their intervals, and the whole distribution."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from hops.elements import numbers
from hops.elements.element import Chart, Element, Figures, Fold, Heading, Section, Text
from hops.elements.table import Cell, Column, Table, estimate, number, whole, words
from hops.report.chart import GRID, INK, PAPER, Spec, draw, milliseconds_axis, ticks
from hops.report.palette import Look
from hops.report.view import View, latencies_ms
from hops.run.documents import JourneySummary

COLUMNS = ("mean", "p50", "p90", "p95", "p99", "p99_9")
#: -log10 of what lies above: 0 is the smallest, 1 is p90, 2 is p99, 3 is p99.9.
_NINES = np.concatenate([np.linspace(0, 1, 25), np.linspace(1, 3, 37)[1:]])
#: Median above, p99 below the middle of a topology's row, in pixels.
_OFFSETS = {"p50": -6, "p99": 6}
_PERCENT_LABELS = "datum.value==0?'0':datum.value==1?'90':datum.value==2?'99':'99.9'"


def section(view: View) -> Section:
    """Makes the section."""
    since = (
        "Latency counts from the intended arrival to the checked answer, so a slow system cannot hide by delaying "
        "its load."
        if view.summary["mode"] == "open"
        else "Closed loop: latency counts from the actual start; it does not compare with that of an open loop."
    )
    intervals = (
        "Intervals are over blocks."
        if view.summary["blocks"] > 1
        else (
            "One block: no intervals over blocks. Those shown are within the block, and an end is open where it is "
            "too short."
        )
    )
    elements: list[Element] = [
        Text(f"{since} Journeys that failed are counted, and left out of the percentiles."),
        Heading("Median and p99, with 95 % intervals"),
        Figures(
            [interval_chart(view, journey) for journey in view.journeys_and_all],
            view.topology_key,
            "Filled: median; hollow: p99. The line through each is its 95 % interval, dotted where one end is open, "
            "and not there where the journeys are too few for either. "
            f"{intervals} Logarithmic scale.",
        ),
        Heading("The whole distribution, up to p99.9"),
        Figures(
            [percentile_chart(view, journey) for journey in view.journeys_and_all],
            view.topology_key,
            "How many percent of the journeys took at most so long. Both scales are logarithmic: every step to the "
            "right leaves a tenth of the journeys above. A line ends where a single journey would decide it.",
        ),
        Heading("Figures"),
        latency_table(view),
        Fold("Every comparison of two topologies", [comparison_table(view)])
        if not view.why_alone
        else Text(view.why_alone, tone="note"),
    ]
    return Section("latency", "Latency of each journey", elements)


def latency_table(view: View) -> Table:
    """A row per journey and topology."""
    columns = [Column("journey", numeric=False), Column("topology", numeric=False), Column("count")]
    columns += [Column(name.replace("_", "."), "ms", interval=True) for name in COLUMNS]
    columns += [Column("max", "ms"), Column("failed")]
    rows = [
        [words(journey), words(look.name, f"mark t{look.index % 8}"), whole(cell["count"]), *_percentiles(cell)]
        for journey in view.journeys_and_all
        for look, cell in view.cells(journey)
    ]
    return Table("latency", "Latency by journey and topology, ms, with 95 % intervals", columns, rows, heads=2)


def comparison_table(view: View) -> Table:
    """Every comparison, as the summary has it."""
    verdicts = {
        "left_lower": "left lower",
        "right_lower": "right lower",
        "not_shown": "not shown",
        "unknown": "unknown",
    }
    columns = [Column(name, numeric=False) for name in ("journey", "metric", "left", "right")]
    columns += [
        Column("left value"),
        Column("right value"),
        Column("left less right", interval=True),
        Column("left / right", interval=True),
        Column("p, Holm"),
        Column("effect"),
        Column("verdict", numeric=False),
    ]
    rows = []
    for row in view.summary["comparisons"]:
        reason = row["reason"] or ""
        rows.append(
            [
                words(row["journey"]),
                words(row["metric"].replace("_", ".").replace("cpu.ms", "CPU ms")),
                words(row["left"]),
                words(row["right"]),
                number(row["left_value"]),
                number(row["right_value"]),
                estimate(row["difference"], row["ci95"], signed=True),
                estimate(row["ratio"], row["ratio_ci95"]),
                Cell(numbers.chance(row["p_holm"]), row["p_holm"]),
                number(row["effect"]),
                Cell(verdicts[row["verdict"]], row["verdict"], note=reason),
            ]
        )
    caption = "All comparisons, latencies in ms; effect: the chance that a journey of the left takes less time"
    return Table("comparisons", caption, columns, rows, heads=4)


def interval_chart(view: View, journey: str) -> Chart:
    """Median and p99 of one journey with their intervals, a row per topology."""
    rows = list(_interval_rows(view, journey))
    values = [row[key] for row in rows for key in ("value", "low", "high") if row[key]]
    low, high = _bounds(values)
    for row in rows:
        row["open_low"], row["open_high"] = row["low"] or low, row["high"] or high
    x = milliseconds_axis(field="value", scale={"domain": [low, high]}, axis={"values": ticks(low, high)})
    spec: Spec = {
        "height": {"step": 31},
        "encoding": {"y": _topology_axis(view), "color": _topology_color(view)},
        "layer": [layer for metric, offset in _OFFSETS.items() for layer in _interval_layers(view, x, metric, offset)],
    }
    described = "; ".join(
        f"{row['topology']} {row['metric']} {numbers.plain(row['value'])} ms"
        + (f" ({numbers.interval((row['low'], row['high']))})" if row["low"] or row["high"] else "")
        for row in rows
    )
    return draw(journey, f"Median and p99 of {journey}: {described}.", spec, rows)


def percentile_chart(view: View, journey: str) -> Chart:
    """Latency over the percentile, a line per topology."""
    rows: list[dict[str, Any]] = []
    for look in view.looks:
        values = latencies_ms(view, look.name, journey)
        if not values.size:
            continue
        reach = min(3.0, math.log10(values.size)) if values.size > 1 else 0.0
        nines = np.append(_NINES[reach > _NINES], reach)
        found = np.quantile(values, 1 - 10.0**-nines)
        rows += [
            {"topology": look.name, "nines": round(float(n), 3), "ms": float(f"{ms:.4g}"), "at": _marked(float(n))}
            for n, ms in zip(nines, found, strict=True)
        ]
    low, high = _bounds([row["ms"] for row in rows])
    y = milliseconds_axis(field="ms", scale={"domain": [low, high]}, axis={"values": ticks(low, high)})
    x = {
        "field": "nines",
        "type": "quantitative",
        "scale": {"domain": [0, 3]},
        "axis": {"values": [0, 1, 2, 3], "labelExpr": _PERCENT_LABELS, "title": "percent of journeys", "grid": True},
    }
    dash = {"field": "topology", "type": "nominal", "legend": None, "scale": _scale(view, "dash")}
    spec: Spec = {
        "height": 150,
        "encoding": {"x": x, "y": y, "color": _topology_color(view)},
        "layer": [
            {
                "mark": {"type": "line", "strokeWidth": 2, "interpolate": "monotone"},
                "encoding": {"strokeDash": dash},
            },
            {
                "transform": [{"filter": "datum.at"}],
                "mark": {"type": "point", "filled": True, "size": 34, "opacity": 1},
                "encoding": {"shape": _topology_shape(view)},
            },
        ],
    }
    return draw(
        journey, f"Latency of {journey} over percentiles, a line per topology; figures in the table.", spec, rows
    )


def _percentiles(cell: JourneySummary) -> list[Cell]:
    latency, intervals = cell["latency_ms"], cell["latency_ci95"]
    cells = [estimate(latency.get(name), intervals.get(name) or (None, None)) for name in COLUMNS]
    return [*cells, number(latency.get("max")), _failed(cell)]


def _failed(cell: JourneySummary) -> Cell:
    some = {name: count for name, count in cell["errors"].items() if count}
    note = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in some.items())
    return Cell(f"{sum(some.values()):,}", sum(some.values()), tone="bad" if some else "", note=note)


def _interval_rows(view: View, journey: str) -> Iterator[dict[str, Any]]:
    for look, cell in view.cells(journey):
        for metric in ("p50", "p99"):
            value = cell["latency_ms"].get(metric)
            if value is not None:
                low, high = cell["latency_ci95"].get(metric) or (None, None)
                yield {"topology": look.name, "metric": metric, "value": value, "low": low, "high": high}


def _bounds(values: list[float]) -> tuple[float, float]:
    positive = [value for value in values if value > 0] or [1.0]
    return min(positive) / 1.12, max(positive) * 1.12


def _marked(nines: float) -> bool:
    return abs(nines - round(nines)) < 1e-9 and nines > 0


def _interval_layers(view: View, x: Spec, metric: str, offset: int) -> list[Spec]:
    known = "isValid(datum.low) && isValid(datum.high)"
    ends = {"x": {**x, "field": "open_low"}, "x2": {"field": "open_high"}}
    point: Spec = {"type": "point", "opacity": 1, "yOffset": offset}
    point |= {"filled": True, "size": 64} if metric == "p50" else {"size": 52, "strokeWidth": 2, "fill": PAPER}
    return [
        {
            "transform": [{"filter": f"datum.metric=='{metric}' && isValid(datum.low) != isValid(datum.high)"}],
            "mark": {"type": "rule", "strokeWidth": 1.5, "strokeDash": [2, 3], "yOffset": offset},
            "encoding": ends,
        },
        {
            "transform": [{"filter": f"datum.metric=='{metric}' && {known}"}],
            "mark": {"type": "rule", "strokeWidth": 2.5, "yOffset": offset},
            "encoding": ends,
        },
        {
            "transform": [{"filter": f"datum.metric=='{metric}'"}],
            "mark": point,
            "encoding": {"x": x, "shape": _topology_shape(view)},
        },
    ]


def _topology_axis(view: View) -> Spec:
    return {
        "field": "topology",
        "type": "nominal",
        "scale": {"domain": view.topologies},
        "axis": {"title": None, "labelColor": INK, "grid": False, "domain": False, "gridColor": GRID},
    }


def _topology_color(view: View) -> Spec:
    return {"field": "topology", "type": "nominal", "legend": None, "scale": _scale(view, "color")}


def _topology_shape(view: View) -> Spec:
    return {"field": "topology", "type": "nominal", "legend": None, "scale": _scale(view, "shape")}


def _scale(view: View, what: str) -> Spec:
    values: list[Any] = [_look(look, what) for look in view.looks]
    return {"domain": view.topologies, "range": values}


def _look(look: Look, what: str) -> Any:
    return {"color": look.color, "dash": list(look.dash), "shape": look.shape}[what]
