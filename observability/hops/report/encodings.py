"""Axes, scales and layers that charts share: topologies look the same everywhere; no chart has a separate legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hops.report.chart import INK, PAPER, Spec
from hops.report.palette import Look
from hops.report.view import View


def amount(field: str, title: str = "", *, scale: Spec | None = None, stacked: bool = False, **axis: Any) -> Spec:
    """Makes a linear axis of figures, with a title unless it is empty; `axis` is the rest, such as `tickCount`."""
    return {
        "field": field,
        "type": "quantitative",
        **({"axis": {"title": title, **axis}} if title else {}),
        **({"scale": scale} if scale else {}),
        **({"stack": "zero"} if stacked else {}),
    }


def kinds(field: str, domain: Sequence[str], marks: Sequence[Any]) -> Spec:
    """Gives each kind its mark, such as a colour, a shape or a fill."""
    return {"field": field, "type": "nominal", "legend": None, "scale": {"domain": list(domain), "range": list(marks)}}


def row_each(field: str, domain: Sequence[str]) -> Spec:
    """Gives each name a row of the chart."""
    axis = {"title": None, "labelColor": INK}
    return {"field": field, "type": "nominal", "scale": {"domain": list(domain)}, "axis": axis}


def layer(mark: str, encoding: Spec, *, only: str = "", data: Sequence[Any] | None = None, **style: Any) -> Spec:
    """Makes one kind of mark, of rows that meet the condition `only`; of the chart's rows unless `data` is given."""
    return {
        "mark": {"type": mark, **style},
        "encoding": encoding,
        **({"transform": [{"filter": only}]} if only else {}),
        **({"data": {"values": list(data)}} if data is not None else {}),
    }


def label(encoding: Spec, *, dx: int = 4, data: Sequence[Any] | None = None) -> Spec:
    """Labels a bar with the field `text`, to its right."""
    return layer(
        "text", {**encoding, "text": {"field": "text"}}, data=data, align="left", dx=dx, fontSize=11, color=INK
    )


def stack(mark: str, x: Spec, groups: Sequence[str], fills: Sequence[str], *, stroke: float = 1, **more: Spec) -> Spec:
    """Stacks bars or areas of groups, in the order of the groups."""
    encoding = {
        "x": x,
        "order": {"field": "order", "type": "quantitative"},
        "color": kinds("group", groups, fills),
        **more,
    }
    return layer(mark, encoding, stroke=PAPER, strokeWidth=stroke)


def topology_axis(view: View) -> Spec:
    """Gives each topology a row."""
    return row_each("topology", view.topologies)


def topology_color(looks: Sequence[Look]) -> Spec:
    """Gives each topology its colour."""
    return kinds("topology", [look.name for look in looks], [look.color for look in looks])


def topology_dash(looks: Sequence[Look]) -> Spec:
    """Gives each topology its dashes."""
    return kinds("topology", [look.name for look in looks], [list(look.dash) for look in looks])


def topology_shape(looks: Sequence[Look]) -> Spec:
    """Gives each topology its shape."""
    return kinds("topology", [look.name for look in looks], [look.shape for look in looks])
