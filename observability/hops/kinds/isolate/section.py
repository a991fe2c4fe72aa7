"""What others gain without a kind of journey beside them: the first section of the report."""

from __future__ import annotations

from hops.elements.element import Section
from hops.kinds.isolate.document import isolation_in
from hops.kinds.isolate.tables import isolation_details, isolation_elements
from hops.tables.view import SummaryView

TITLE = "What others gain"


def section(view: SummaryView) -> Section:
    """Makes the section."""
    isolation = isolation_in(view.summary)
    return Section("isolation", TITLE, [*isolation_elements(isolation), *isolation_details(isolation)])
