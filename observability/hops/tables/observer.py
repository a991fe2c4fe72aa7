"""What tracing adds to the latencies."""

from __future__ import annotations

from hops.conclusions.notes import observer_sentence
from hops.conclusions.wording import shown
from hops.elements.element import Text
from hops.tables.view import SummaryView


def observer_text(view: SummaryView) -> Text:
    """The cost of tracing in a sentence, and whether this run can tell it from none."""
    effect = view.summary["observer_effect_ms"]
    text = observer_sentence(view.summary)
    if None not in effect["ci95"] and not shown(effect["ci95"]):
        text += " The interval includes zero: the cost of tracing is too small for this run to see."
    return Text(text, tone="finding")
