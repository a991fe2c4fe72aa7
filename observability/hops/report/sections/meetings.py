"""What ran at the same time: how much longer journeys take if one of some kind arrived shortly before."""

from __future__ import annotations

from hops.elements.element import Element, Section, Text
from hops.report.view import View
from hops.tables.meetings import meetings_elements, queues_table

_OF_QUEUES = (
    "From the traces: how long calls waited on their way to a component whose event loop was busy, and how much of "
    "that fell into the median duration of a kind, from an arrival of it on. A wait during several journeys is in the "
    "row of each. Compare it with the share of the time."
)


def section(view: View) -> Section:
    """Makes the section."""
    text = (
        "From the rows of all journeys, traced or not: how much longer a journey takes that arrives within the median "
        "duration of some kind after one of it, than one that is like it and does not. “Share above p99”: of the "
        "journeys above the p99 of all, how many did. It does not say that one waits for the other: what slows both, "
        "such as a busy disk, looks alike. “make isolate” takes a kind away, and tells."
    )
    elements: list[Element] = [Text(text), *meetings_elements(view)]
    queues = queues_table(view)
    if queues is not None:
        elements += [queues, Text(_OF_QUEUES, tone="note")]
    return Section("meetings", "What ran at the same time", elements)
