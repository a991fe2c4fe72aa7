"""What became of a study's claims: the first section of its report."""

from __future__ import annotations

from hops.elements.element import Section
from hops.kinds.studies.document import replayed_in
from hops.kinds.studies.tables import verdict_elements
from hops.tables.view import SummaryView

TITLE = "What became of its claims"


def section(view: SummaryView) -> Section:
    """Makes the section."""
    return Section("claims", TITLE, verdict_elements(replayed_in(view.summary)))
