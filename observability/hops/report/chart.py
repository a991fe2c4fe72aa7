"""Charts drawn by Vega-Lite, as SVG with colours from the page; the page adds the ARIA role and a description."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import vl_convert
from markupsafe import Markup

from hops.elements.element import Chart

Spec = dict[str, Any]
VEGA_LITE = "5.21"

INK, SOFT, GRID, PAPER = "var(--ink)", "var(--soft)", "var(--grid)", "var(--paper)"
WIDTH = 312
"""Width of a whole chart with its labels, in pixels. It fits a phone. On a wide page charts are next to each other, on
a narrow page one below the other."""
_LABELLED = re.compile(r'<path aria-label="([^"]*)"([^>]*)/>')
"""Matches a mark with a description. If a reader points at a mark, browsers show its `title`, not its label."""
_CONFIG: Spec = {
    "aria": False,  # a chart is one image with a description, not a tree of marks
    "background": "transparent",
    "font": "Liberation Sans, Arial, sans-serif",
    "view": {"stroke": None},
    "autosize": {"type": "fit-x", "contains": "padding"},
    # Room for letters that are wider on the reader's machine than here.
    "padding": {"left": 8, "right": 4, "top": 2, "bottom": 2},
    "axis": {
        "labelColor": SOFT,
        "titleColor": SOFT,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "titlePadding": 6,
        "gridColor": GRID,
        "domainColor": GRID,
        "tickColor": GRID,
        "labelOverlap": "greedy",
        "labelSeparation": 6,
        "labelLimit": 116,
    },
    "axisY": {"domain": False, "ticks": False, "labelPadding": 6},
    "title": {"color": INK, "fontSize": 11, "fontWeight": "bold", "anchor": "start", "offset": 6},
    "scale": {"bandPaddingInner": 0.28},
}


def draw(title: str, description: str, spec: Mapping[str, Any], rows: Sequence[Mapping[str, Any]] = ()) -> Chart:
    """Makes a chart, drawn when first shown; `rows` are its data unless the specification for Vega-Lite has some."""
    whole: Spec = {"config": _CONFIG, "width": WIDTH, **spec}
    if rows:
        whole["data"] = {"values": list(rows)}

    @functools.cache
    def drawn() -> Markup:
        svg = vl_convert.vegalite_to_svg(whole, vl_version=VEGA_LITE)
        return Markup(_LABELLED.sub(r"<path\2><title>\1</title></path>", svg))  # noqa: S704  Vega escapes the words

    return Chart(title, description, drawn)


def milliseconds_axis(field: str, low: float, high: float, title: str = "ms") -> Spec:
    """Makes a logarithmic axis from `low` to `high` ms."""
    return {
        "type": "quantitative",
        "scale": {"type": "log", "nice": False, "zero": False, "domain": [low, high]},
        "axis": {"title": title, "tickCount": 5, "format": "~r", "values": ticks(low, high)},
        "field": field,
    }


def bounds(values: Iterable[float | None], above: float = 1.12) -> tuple[float, float]:
    """Gives the ends of a logarithmic axis: a little below the lowest value, and `above` times the highest."""
    positive = [value for value in values if value and value > 0] or [1.0]
    return min(positive) / 1.12, max(positive) * above


_MIN_TICKS = 3


def ticks(low: float, high: float) -> list[float]:
    """Places the labels of a logarithmic axis: 1, 2 and 5 of each decade; fewer if it is long, more if short."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    chosen: list[float] = []
    for steps in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 5, 7), (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9)):
        chosen = [at for power in powers for step in steps if low <= (at := float(f"{step}e{power}")) <= high]
        if len(chosen) >= _MIN_TICKS:
            break
    return chosen
