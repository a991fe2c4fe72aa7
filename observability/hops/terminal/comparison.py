"""A comparison of topologies on a terminal."""

from __future__ import annotations

from rich.console import Group

from hops.elements.element import Heading, Text
from hops.run.documents.summary import Summary
from hops.run.switches import mesh_text, replicas_text
from hops.tables.conclusion import conclusion_elements
from hops.tables.cost import cost_table
from hops.tables.distance import distance_lines
from hops.tables.latency import latency_table, latency_text, shown_differences
from hops.tables.sidecars import sidecar_texts
from hops.tables.validity import trust_elements
from hops.tables.view import SummaryView
from hops.terminal.render import render


def compare(summary: Summary) -> Group:
    """Shows conclusions, latencies, shown differences, break-even distances, cost, sidecars, gates, failing trials."""
    view = SummaryView(summary)
    mesh, replicas = mesh_text(summary["switches"]), replicas_text(summary["switches"])
    return render(
        [
            *([Text(f"Mesh: {mesh}.")] if mesh else []),
            *([Text(f"Replicas: {replicas}.")] if replicas else []),
            Heading("What this run says"),
            *conclusion_elements(view),
            latency_text(view),
            latency_table(view),
            *shown_differences(view),
            *distance_lines(view),
            cost_table(view),
            *sidecar_texts(view),
            *trust_elements(view),
        ]
    )
