"""Who waits behind whom: what a journey loses by arriving while another one is under way."""

from __future__ import annotations

from hops.elements.element import Section, Text
from hops.report.view import View
from hops.tables.meetings import meetings_elements


def section(view: View) -> Section:
    """Makes the section."""
    text = (
        "From the rows of all journeys, traced or not: how much longer a journey takes that arrives while one of some "
        "kind is under way, whatever else is. What journeys are by themselves is taken out, and what bursts bring "
        "together is told apart. A component that is busy with one of them shows in the budgets of the others as "
        "queue:<component>."
    )
    return Section("meetings", "Who waits behind whom", [Text(text), *meetings_elements(view)])
