"""An isolation among the kinds of experiments."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group

from hops.analysis.summary import Measured
from hops.elements.element import Heading
from hops.kinds.isolate import section
from hops.kinds.isolate.analysis import isolation_of
from hops.kinds.isolate.arms import AS_IS, disturber_of
from hops.kinds.isolate.document import Isolation, isolation_in
from hops.kinds.isolate.tables import isolation_elements
from hops.report.view import Kind
from hops.run.documents.summary import Summary
from hops.run.files import RunFiles
from hops.tables.validity import trust_elements
from hops.tables.view import SummaryView
from hops.terminal.render import rendered


def pairs_of(run: RunFiles) -> list[tuple[str, str]]:
    """The arms that have one tape: figures over other journeys cannot be compared as they are."""
    return [(arm, AS_IS) for arm in run.topologies if arm != AS_IS and run.tape_of(arm) == run.tape_of(AS_IS)]


def figures_of(measured: Measured) -> Mapping[str, Isolation]:
    """What is gained in each arm."""
    return {"isolation": isolation_of(measured.journeys, disturber_of(measured.journeys))}


def terminal(summary: Summary) -> Group:
    """The first section of the report, and whether to trust it."""
    view = SummaryView(summary)
    return rendered([Heading(section.TITLE), *isolation_elements(isolation_in(summary)), *trust_elements(view)])


KIND = Kind(
    "What do other journeys gain without this one beside them, and was it foreseen?",
    terminal,
    pairs_of=pairs_of,
    figures_of=figures_of,
    conclusions=section.section,
    arms="arms of an isolation",
)
