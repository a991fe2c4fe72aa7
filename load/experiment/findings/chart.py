"""A finding's chart: one figure with its interval for each topology, as a standalone SVG file."""

from __future__ import annotations

from experiment.findings.figures import read_figure
from experiment.findings.kept import Kept
from experiment.findings.table import Chart
from hops.elements import numbers
from hops.elements.element import Chart as Drawn
from hops.report.chart import INK, SOFT, Spec, draw
from hops.report.encodings import amount, label, layer, row_each
from hops.report.picture import standalone

WIDTH = 400
_ROOM = 1.75
"""Length of the axis as a multiple of its highest figure; the space beyond that figure is for text."""


def chart(wanted: Chart, kept: Kept) -> Drawn:
    """Makes a chart, which is drawn when its SVG is read; raises UsageError if the run has no such figure."""
    names = wanted.topologies or list(kept.summary["topologies"])
    reader, *arguments = wanted.figure
    figures = {name: read_figure(kept.summary, reader, name, *arguments) for name in names}
    words = f"{wanted.title}: {'; '.join(f'{name} {figure.text}' for name, figure in figures.items())}."
    rows = [
        {
            "topology": name,
            "value": figure.value,
            "low": figure.ends[0],
            "high": figure.ends[1],
            "text": numbers.figure(figure.value, figure.ends),
        }
        for name, figure in figures.items()
    ]
    top = max(figure.ends[1] or figure.value for figure in figures.values())
    scale = {"domain": [0, _ROOM * top], "nice": False}
    unit = next(iter(figures.values())).unit
    x = amount("value", unit or numbers.NOTHING, scale=scale, tickCount=5)
    y = row_each("topology", names)
    at_end = {"field": "high", "type": "quantitative"}
    spec: Spec = {
        "width": WIDTH,
        "height": {"step": 30},
        "title": {"text": wanted.title, "fontSize": 13},
        "encoding": {"y": y},
        "layer": [
            layer("bar", {"x": x}, color=SOFT, opacity=0.7),
            layer("rule", {"x": {"field": "low", "type": "quantitative"}, "x2": {"field": "high"}}, color=INK),
            label({"x": at_end}),
        ],
    }
    return draw(wanted.title, words, spec, rows)


def chart_file(drawn: Drawn) -> str:
    """Returns the chart as the text of a standalone SVG file."""
    return standalone(str(drawn.svg), drawn.description)
