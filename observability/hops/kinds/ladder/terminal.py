"""A ladder on a terminal."""

from __future__ import annotations

from rich.console import Group

from hops.conclusions.notes import suspect_sentences
from hops.elements.element import Heading, Points
from hops.kinds.ladder.document import ladder_of
from hops.kinds.ladder.tables import ladder_elements
from hops.run.documents.summary import Summary
from hops.tables.validity import validity_elements
from hops.tables.view import SummaryView
from hops.terminal.render import rendered


def ladder_view(summary: Summary) -> Group:
    """What each step adds, gates, suspect trials.

    Args:
        summary: A summary as in `summary.json`, of a ladder.
    """
    view = SummaryView(summary)
    return rendered(
        [
            Heading("What each step adds"),
            *ladder_elements(ladder_of(summary)),
            *validity_elements(view),
            Points(suspect_sentences(summary)),
        ]
    )
