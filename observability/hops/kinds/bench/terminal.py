"""Terminal view of a run of one topology."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Group

from hops.conclusions.notes import cache_sentences, edge_cache_sentences, switch_sentences
from hops.elements.element import Element, Text
from hops.elements.table import Table
from hops.run.documents.summary import Summary
from hops.run.fault_notice import fault_notice
from hops.tables.budget import budget_elements, journey_groups_table
from hops.tables.gates import validity_elements
from hops.tables.latency import latency_table, latency_text
from hops.tables.net_budget import net_text
from hops.tables.network import bytes_table, over_fetching_table, wire_table
from hops.tables.observer import observer_text
from hops.tables.sidecars import sidecar_elements
from hops.tables.view import SummaryView
from hops.terminal.render import render
from hops.units import ALL

MIN_SHARE = 0.01
"""Parts with a smaller share of the mean are merged into one row, so that eight tables stay readable."""


def bench(summary: Summary) -> Group:
    """Shows latencies, requests and bytes, hop budgets, sidecars, the cost of tracing, and gates."""
    view = SummaryView(summary)
    notice = fault_notice(summary["switches"])
    elements: list[Element] = [Text(notice, tone="notice")] if notice else []
    elements += map(Text, switch_sentences(summary))
    elements += [latency_text(view), latency_table(view), bytes_table(view), wire_table(view)]
    elements += [over_fetching] if (over_fetching := over_fetching_table(view)) else []
    sidecars = sidecar_elements(view)
    if sidecars:  # sidecars double the number of parts, so a table by group comes first
        elements.append(journey_groups_table(view, ALL))
    for journey in (ALL, *view.journeys):
        elements += budget_elements(view, journey, min_share=0.0 if journey == ALL and not sidecars else MIN_SHARE)
    elements += [*filter(None, [net_text(view)]), *sidecars]
    elements += [Text(sentence) for sentence in (*cache_sentences(summary), *edge_cache_sentences(summary))]
    elements += [observer_text(view), *validity_elements(view)]
    (topology,) = view.topologies
    return render([_drop_name(element, topology) if isinstance(element, Table) else element for element in elements])


def _drop_name(table: Table, topology: str) -> Table:
    """Removes the name of the only topology from a table, where it would be in every row or column head."""
    kept = [index for index, column in enumerate(table.columns) if column.name != "topology"]
    columns = [
        replace(table.columns[index], name=table.columns[index].name.removeprefix(f"{topology}, ")) for index in kept
    ]
    rows = [[row[index] for index in kept] for row in table.rows]
    return replace(table, columns=columns, rows=rows, heads=sum(index < table.heads for index in kept))
