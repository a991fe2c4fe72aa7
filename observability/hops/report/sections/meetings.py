"""What ran at the same time: how much longer journeys take if a journey of some kind arrived shortly before."""

from __future__ import annotations

from hops.elements.element import Element, Section, Text
from hops.report.view import View
from hops.tables.meetings import meetings_elements, queues_table

_OF_QUEUES = (
    "From the traces: how long calls waited on their way to a component whose event loop was busy. A row counts the "
    "waits within a kind's median duration after an arrival of that kind. A wait during several journeys is in the row "
    "of each of them. Compare a row with “of the time”, the share of the time that such periods cover."
)


def section(view: View) -> Section:
    """Makes the section on journeys that ran at the same time."""
    text = (
        "From the rows of all journeys, traced or not. A journey meets a kind if it arrives within the kind's median "
        "duration after one of that kind. “Longer by” compares such journeys with similar journeys without a "
        "meeting. “Share above p99”: of the journeys above the p99 of all, how many met one. This does not show that "
        "one waits for the other: a common cause, such as a busy disk, looks the same. “make isolate” removes a "
        "kind, and shows whether others waited for it."
    )
    elements: list[Element] = [Text(text), *meetings_elements(view)]
    queues = queues_table(view)
    if queues is not None:
        elements += [queues, Text(_OF_QUEUES, tone="note")]
    return Section("meetings", "What ran at the same time", elements)
