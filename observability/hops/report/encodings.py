"""Axes, scales and layers that charts share: topologies look the same everywhere, and no chart has a legend inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hops.report.chart import INK, PAPER, Spec
from hops.report.view import View


def amount(field: str, title: str = "", *, scale: Spec | None = None, stacked: bool = False, **axis: Any) -> Spec:
    """A linear axis of figures.

    Args:
        field: Field of the rows.
        title: Title of the axis; none if empty.
        scale: Scale, as Vega-Lite has it.
        stacked: Whether the figures of one place stand on each other.
        axis: More settings of the axis, as `tickCount`.
    """
    return {
        "field": field,
        "type": "quantitative",
        **({"axis": {"title": title, **axis}} if title else {}),
        **({"scale": scale} if scale else {}),
        **({"stack": "zero"} if stacked else {}),
    }


def kinds(field: str, domain: Sequence[str], marks: Sequence[Any]) -> Spec:
    """Each kind with its mark: a colour, a shape, a fill."""
    return {"field": field, "type": "nominal", "legend": None, "scale": {"domain": list(domain), "range": list(marks)}}


def row_each(field: str, domain: Sequence[str]) -> Spec:
    """A row of the chart for each name."""
    axis = {"title": None, "labelColor": INK}
    return {"field": field, "type": "nominal", "scale": {"domain": list(domain)}, "axis": axis}


def layer(mark: str, encoding: Spec, *, only: str = "", data: Sequence[Any] | None = None, **style: Any) -> Spec:
    """One kind of mark.

    Args:
        mark: Mark, as Vega-Lite names it.
        encoding: Channels of the mark.
        only: A condition on its rows; all if empty.
        data: Rows of its own; those of the chart if None.
        style: Style of the mark.
    """
    return {
        "mark": {"type": mark, **style},
        "encoding": encoding,
        **({"transform": [{"filter": only}]} if only else {}),
        **({"data": {"values": list(data)}} if data is not None else {}),
    }


def label(encoding: Spec, *, dx: int = 4, data: Sequence[Any] | None = None) -> Spec:
    """The field `text`, behind a bar."""
    return layer(
        "text", {**encoding, "text": {"field": "text"}}, data=data, align="left", dx=dx, fontSize=11, color=INK
    )


def stacked(
    mark: str, x: Spec, groups: Sequence[str], fills: Sequence[str], *, stroke: float = 1, **more: Spec
) -> Spec:
    """Bars or areas of groups on top of each other, in the order of the groups."""
    encoding = {
        "x": x,
        "order": {"field": "order", "type": "quantitative"},
        "color": kinds("group", groups, fills),
        **more,
    }
    return layer(mark, encoding, stroke=PAPER, strokeWidth=stroke)


def topology_axis(view: View) -> Spec:
    """A row for each topology."""
    return row_each("topology", view.topologies)


def topology_color(view: View) -> Spec:
    """Each in its colour."""
    return kinds("topology", view.topologies, [look.color for look in view.looks])


def topology_dash(view: View) -> Spec:
    """Each with its dashes."""
    return kinds("topology", view.topologies, [list(look.dash) for look in view.looks])


def topology_shape(view: View) -> Spec:
    """Each with its shape."""
    return kinds("topology", view.topologies, [look.shape for look in view.looks])
