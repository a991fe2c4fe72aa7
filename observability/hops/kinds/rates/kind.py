"""An experiment over rates among the kinds of experiments."""

from __future__ import annotations

from itertools import combinations

from rich.console import Group

from hops.elements.element import Heading
from hops.kinds.rates.analysis import rates_figures
from hops.kinds.rates.arms import arms_of
from hops.kinds.rates.section import charts, section
from hops.kinds.rates.tables import rates_elements
from hops.report.view import Kind
from hops.run.documents.summary import Summary
from hops.run.files import RunFiles
from hops.tables.validity import trust_elements
from hops.tables.view import SummaryView
from hops.terminal.render import rendered


def pairs_of(run: RunFiles) -> list[tuple[str, str]]:
    """The arms at the same rate, or at the same share of what each topology holds."""
    pairs = combinations(arms_of(run.manifest), 2)
    return [
        (left.label, right.label)
        for left, right in pairs
        if left.topology != right.topology
        and (left.percent == right.percent if left.percent is not None else left.rate == right.rate)
    ]


def terminal(summary: Summary) -> Group:
    """The first section of the report, and whether to trust it."""
    view = SummaryView(summary)
    return rendered([Heading("What load does"), *rates_elements(view), *trust_elements(view)])


KIND = Kind(
    "How do latency and cost change with the load, and at which rate does the order of topologies turn round?",
    terminal,
    pairs_of=pairs_of,
    figures_of=rates_figures,
    conclusions=section,
    arms="arms (one for each topology and rate)",
    picture=charts,
)
