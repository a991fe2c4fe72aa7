"""A comparison of topologies on a terminal."""

from __future__ import annotations

from rich.console import Group

from hops.conclusions.notes import switch_sentences
from hops.elements.element import Heading, Text
from hops.run.documents.summary import Summary
from hops.tables.conclusion import conclusion_elements
from hops.tables.cost import cost_table
from hops.tables.distance import distance_lines
from hops.tables.gates import trust_elements
from hops.tables.latency import latency_table, latency_text, shown_differences
from hops.tables.sidecars import sidecar_texts
from hops.tables.view import SummaryView
from hops.terminal.render import render


def compare(summary: Summary) -> Group:
    """Shows conclusions, latencies, shown differences, break-even distances, cost, sidecars, gates, failing trials."""
    view = SummaryView(summary)
    return render(
        [
            *map(Text, switch_sentences(summary)),
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
