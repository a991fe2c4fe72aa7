"""How charts tell topologies apart: a row each, and colours, dashes and shapes that are the same everywhere."""

from __future__ import annotations

from typing import Any

from hops.report.chart import INK, Spec
from hops.report.view import View


def topology_axis(view: View) -> Spec:
    """A row for each topology."""
    return {
        "field": "topology",
        "type": "nominal",
        "scale": {"domain": view.topologies},
        "axis": {"title": None, "labelColor": INK},
    }


def topology_color(view: View) -> Spec:
    """Each in its colour."""
    return _scaled(view, [look.color for look in view.looks])


def topology_dash(view: View) -> Spec:
    """Each with its dashes."""
    return _scaled(view, [list(look.dash) for look in view.looks])


def topology_shape(view: View) -> Spec:
    """Each with its shape."""
    return _scaled(view, [look.shape for look in view.looks])


def _scaled(view: View, marks: list[Any]) -> Spec:
    scale = {"domain": view.topologies, "range": marks}
    return {"field": "topology", "type": "nominal", "legend": None, "scale": scale}
