"""Who waits behind whom: what a journey loses by arriving while another one is under way."""

from __future__ import annotations

from hops.elements.element import Element, Section, Text
from hops.report.view import View
from hops.tables.meetings import meetings_elements, queues_table

_OF_QUEUES = (
    "From the traces: how long calls waited on their way to a component whose event loop was busy with others, and how "
    "much of that fell into the time in which a journey of a kind was under way. A wait during several journeys is in "
    "the row of each. Compare it with the share of the time in which one was."
)


def section(view: View) -> Section:
    """Makes the section."""
    text = (
        "From the rows of all journeys, traced or not: how much longer a journey takes that arrives while one of some "
        "kind is under way, than one that is like it and does not. “Share above p99”: of the journeys above the p99 of "
        "all, how many met one. A component that is busy with one of them shows in the budgets of the others as "
        "queue:<component>."
    )
    elements: list[Element] = [Text(text), *meetings_elements(view)]
    queues = queues_table(view)
    if queues is not None:
        elements += [queues, Text(_OF_QUEUES, tone="note")]
    return Section("meetings", "Who waits behind whom", elements)
