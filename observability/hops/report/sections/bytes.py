"""What a journey asks of the network: requests, round trips, bytes."""

from __future__ import annotations

from typing import Any

from hops.elements import numbers
from hops.elements.element import Chart, Element, Figures, Section, Text
from hops.elements.table import Cell, Column, Table, number, whole, words
from hops.report.chart import INK, Spec, draw
from hops.report.view import View


def section(view: View) -> Section:
    """Makes the section."""
    elements: list[Element] = [
        Text(
            "On the wire is all that TCP carried for a journey sent alone, headers and framing included. A wave is a "
            "moment "
            "at which the client begins to wait: two waves are two round trips, one after the other."
        ),
        Figures([chart for journey in view.journeys if (chart := bytes_chart(view, journey))], view.topology_key),
        bytes_table(view),
        wire_table(view),
    ]
    return Section("bytes", "Requests and bytes", elements)


def bytes_chart(view: View, journey: str) -> Chart | None:
    """Bytes on the wire for one journey, in and out together."""
    rows: list[dict[str, Any]] = []
    for look, cell in view.cells(journey):
        ends = (cell["wire_in_mean"], cell["wire_out_mean"])
        if ends[0] is not None and ends[1] is not None:
            kib = (ends[0] + ends[1]) / 1024
            rows.append({"topology": look.name, "kib": kib, "text": numbers.plain(kib)})
    if not rows:
        return None
    x = {
        "field": "kib",
        "type": "quantitative",
        "scale": {"domain": [0, max(row["kib"] for row in rows) * 1.2], "nice": False},
        "axis": {"title": "KiB on the wire, both ways", "tickCount": 4},
    }
    y = {
        "field": "topology",
        "type": "nominal",
        "scale": {"domain": view.topologies},
        "axis": {"title": None, "labelColor": INK},
    }
    color = {
        "field": "topology",
        "type": "nominal",
        "legend": None,
        "scale": {"domain": view.topologies, "range": [look.color for look in view.looks]},
    }
    spec: Spec = {
        "height": {"step": 22},
        "encoding": {"x": x, "y": y},
        "layer": [
            {"mark": {"type": "bar"}, "encoding": {"color": color}},
            {
                "mark": {"type": "text", "align": "left", "dx": 4, "fontSize": 11, "color": INK},
                "encoding": {"text": {"field": "text"}},
            },
        ],
    }
    described = "; ".join(f"{row['topology']} {row['text']} KiB" for row in rows)
    return draw(journey, f"Bytes on the wire for {journey}, both ways: {described}.", spec, rows)


def bytes_table(view: View) -> Table:
    """Requests and bytes of a journey."""
    columns = [Column("journey", numeric=False), Column("topology", numeric=False)]
    columns += [Column(name) for name in ("requests", "waves", "in parallel")]
    columns += [Column(name, "bytes") for name in ("body in", "raw in", "body out", "wire in", "wire out")]
    rows = []
    for journey in view.journeys_and_all:
        for look, cell in view.cells(journey):
            row: list[Cell] = [words(journey), words(look.name, f"mark t{look.index % 8}")]
            row += [number(cell["requests_per_journey"]), number(cell["waves_mean"]), number(cell["parallel_mean"])]
            row += [
                whole(value)
                for value in (
                    cell["bytes_in_mean"],
                    cell["bytes_in_raw_mean"],
                    cell["bytes_out_mean"],
                    cell["wire_in_mean"],
                    cell["wire_out_mean"],
                )
            ]
            rows.append(row)
    return Table("bytes", "Requests and bytes of a journey, means", columns, rows, heads=2)


def wire_table(view: View) -> Table:
    """All that the clients' connections carried."""
    columns = [Column("topology", numeric=False), Column("connections")]
    columns += [Column(name, "bytes") for name in ("in per journey", "out per journey", "opening in", "opening out")]
    rows = []
    for look in view.looks:
        wire = view.summary["topologies"][look.name]["wire"]
        figures = (
            (None,) * 5
            if wire is None
            else (
                wire["connections"],
                wire["in_per_journey"],
                wire["out_per_journey"],
                wire["opening_bytes_in"],
                wire["opening_bytes_out"],
            )
        )
        rows.append([words(look.name, f"mark t{look.index % 8}"), *(whole(value) for value in figures)])
    return Table(
        "wire", "Bytes on the wire over the whole replay, and before it to open the connections", columns, rows
    )
