"""An experiment over distances on a terminal."""

from __future__ import annotations

from rich.console import Group

from hops.conclusions.notes import suspect_sentences
from hops.elements.element import Heading, Points
from hops.kinds.rtt.tables import rtt_elements
from hops.run.documents.summary import Summary
from hops.tables.validity import validity_elements
from hops.tables.view import SummaryView
from hops.terminal.render import rendered


def rtt_view(summary: Summary) -> Group:
    """Which topology is the fastest at which distance, how the model did, gates, suspect trials.

    Args:
        summary: A summary as in `summary.json`, of an experiment over distances.
    """
    view = SummaryView(summary)
    return rendered(
        [
            Heading("What distance does"),
            *rtt_elements(view),
            *validity_elements(view),
            Points(suspect_sentences(summary)),
        ]
    )
