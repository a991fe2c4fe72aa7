"""The network traffic of a journey: requests, round trips, bytes."""

from __future__ import annotations

from typing import Any

from hops.elements import numbers
from hops.elements.element import Chart, Element, Figures, Section, Text
from hops.report.chart import Spec, draw
from hops.report.encodings import amount, label, layer, topology_axis, topology_color
from hops.report.view import View
from hops.tables.network import bytes_table, has_wire, over_fetching_table, selection_table, wire_table


def section(view: View) -> Section:
    """Makes the section on requests and bytes."""
    charts = [chart for journey in view.journeys if (chart := bytes_chart(view, journey))]
    alone = "“On the wire” counts everything that TCP carried for a journey sent alone, headers and framing included. "
    elements: list[Element] = [
        Text(
            (alone if has_wire(view) else "")
            + "A wave is a moment at which the client begins to wait: two waves are two round trips, one after the "
            "other."
        ),
        *([Figures(charts, view.topology_key)] if charts else []),
        bytes_table(view),
        wire_table(view),
        *filter(None, (over_fetching_table(view), selection_table(view))),
    ]
    return Section("bytes", "Requests and bytes", elements, detail=True)


def bytes_chart(view: View, journey: str) -> Chart | None:
    """Draws the bytes on the wire for one journey, in both directions together."""
    rows: list[dict[str, Any]] = []
    for name, cell in view.cells(journey):
        ends = (cell["wire_in_mean"], cell["wire_out_mean"])
        if ends[0] is not None and ends[1] is not None:
            kib = (ends[0] + ends[1]) / 1024
            rows.append({"topology": name, "kib": kib, "text": numbers.plain(kib)})
    if not rows:
        return None
    scale = {"domain": [0, max(row["kib"] for row in rows) * 1.2], "nice": False}
    x = amount("kib", "KiB on the wire, both ways", scale=scale, tickCount=4)
    spec: Spec = {
        "height": {"step": 22},
        "encoding": {"x": x, "y": topology_axis(view)},
        "layer": [layer("bar", {"color": topology_color(view.looks)}), label({})],
    }
    described = "; ".join(f"{row['topology']} {row['text']} KiB" for row in rows)
    return draw(journey, f"Bytes on the wire for {journey}, both ways: {described}.", spec, rows)
