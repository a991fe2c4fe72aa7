"""The load: what was sent to each topology, what it answered, and how busy that kept the processors."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from hops.conclusions.notes import cache_sentences, edge_cache_sentences, load_sentences
from hops.elements import numbers
from hops.elements.element import Chart, Figures, Section, Text
from hops.elements.table import Column, Table, number, percent, whole, words
from hops.report.chart import SOFT, Spec, draw
from hops.report.encodings import amount, layer
from hops.report.palette import Look
from hops.report.view import View
from hops.run.loads import rate_of
from hops.units import NS_PER_S

_BINS = 30


def section(view: View) -> Section:
    """Makes the section on the load."""
    is_open, several = view.summary["closed"] is None, view.summary["blocks"] > 1
    text = f"Journeys a second that ended ok{', one thin line per block' if several else ''}."
    if is_open:
        text += " The dashed line is the planned rate; random arrivals scatter around it."
    charts = [rate_chart(view, look, rate_of(view.run.manifest, look.name) if is_open else None) for look in view.looks]
    key = [*([("line plain", "one block")] if several else []), *([("line dashed", "planned")] if is_open else [])]
    sentences = [*load_sentences(view.summary), *cache_sentences(view.summary), *edge_cache_sentences(view.summary)]
    busy = [Text(" ".join(sentences))] if sentences else []
    return Section("rate", "Load", [Text(text), Figures(charts, key), *busy, rate_table(view)], detail=True)


def rate_chart(view: View, look: Look, planned: float | None) -> Chart:
    """Draws journeys a second over time, with a line per block."""
    rows: list[dict[str, Any]] = []
    journeys = view.run.journeys.filter(pl.col("topology") == look.name).sort("block", "seq")
    for (block,), frame in journeys.group_by("block", maintain_order=True):
        ended_ns = frame.filter(pl.col("outcome") == "ok")["ended_ns"].to_numpy()
        if not ended_ns.size:
            continue
        at = (ended_ns - int(str(frame["intended_ns"].min()))) / NS_PER_S
        long_s = max(1.0, float(at.max()))
        bins = min(_BINS, max(2, int(long_s)))
        counts, edges = np.histogram(at, bins=bins, range=(0, long_s))
        rows += [
            {"block": block, "s": round(float(s), 2), "rate": round(float(n) / (long_s / bins), 2)}
            for s, n in zip((edges[:-1] + edges[1:]) / 2, counts, strict=True)
        ]
    top = max([row["rate"] for row in rows] + [planned or 0.0, 1.0])
    encoding = {
        "x": amount("s", "seconds since the start", grid=False),
        "y": amount("rate", "journeys a second", scale={"domain": [0, top * 1.05]}, tickCount=4),
        "detail": {"field": "block", "type": "nominal"},
    }
    layers = [layer("line", encoding, strokeWidth=1.4, opacity=0.75, color=look.color)]
    if planned:
        rate = {"y": amount("rate")}
        layers.append(layer("rule", rate, data=[{"rate": planned}], strokeDash=[5, 4], color=SOFT, strokeWidth=1.5))
    spec: Spec = {"height": 110, "layer": layers}
    return draw(look.name, f"Journeys a second of {look.name} over time, a line per block.", spec, rows)


def rate_table(view: View) -> Table:
    """Lists what each topology answered in total."""
    rows = []
    for look in view.looks:
        figures, in_use = view.summary["topologies"][look.name], view.summary.get("in_use", {}).get(look.name)
        frame = view.run.journeys.filter(pl.col("topology") == look.name)
        rows.append(
            [
                view.name(look.name),
                whole(frame.height),
                number(figures["throughput_per_s"]),
                whole(sum(figures["errors"].values())),
                percent(in_use["machine"] if in_use else None),
                words(in_use["component"] if in_use else numbers.NOTHING),
                percent(in_use["core"] if in_use else None),
            ]
        )
    columns = [Column(view.compared.one, numeric=False), Column("journeys sent")]
    columns += [Column("ended ok", "1/s"), Column("failed")]
    columns += [Column("of all processors", "%"), Column("busiest component", numeric=False)]
    columns += [Column("of one processor", "%")]
    caption = view.mark_caption("Rate over all blocks, and how much of the processors it kept busy")
    return Table("rate", caption, columns, rows)
