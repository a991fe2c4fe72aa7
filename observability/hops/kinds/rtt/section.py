"""What distance did as measured, and the model of distance held against it."""

from __future__ import annotations

from hops.elements.element import Section
from hops.kinds.rtt.document import check_of
from hops.kinds.rtt.tables import rtt_details, rtt_elements
from hops.tables.view import SummaryView


def section(view: SummaryView) -> Section:
    """Makes the section; the model's curves, with the measured points on them, are in the section on distance."""
    return Section("rtt", "What distance does", [*rtt_elements(view), *rtt_details(check_of(view.summary))])
