"""A replayed study among the kinds of experiments."""

from __future__ import annotations

from rich.console import Group

from hops.elements.element import Heading
from hops.kinds.studies import section
from hops.kinds.studies.analysis import figures_of, pairs_of
from hops.kinds.studies.charts import picture
from hops.kinds.studies.document import replayed_in
from hops.kinds.studies.tables import verdict_elements
from hops.report.view import Kind
from hops.run.documents.summary import Summary
from hops.tables.validity import trust_elements
from hops.tables.view import SummaryView
from hops.terminal.render import rendered


def terminal(summary: Summary) -> Group:
    """The first section of the report, and whether to trust it."""
    view = SummaryView(summary)
    return rendered([Heading(section.TITLE), *verdict_elements(replayed_in(summary)), *trust_elements(view)])


KIND = Kind(
    "Which claims of this study hold on these topologies, and why?",
    terminal,
    called="replay of a study",
    pairs_of=pairs_of,
    figures_of=figures_of,
    conclusions=section.section,
    arms="arms (a topology under one of the study's loads)",
    picture=picture,
)
