"""A ladder among the kinds of experiments."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group

from hops.analysis.summary import Measured, of_ok
from hops.elements.element import Heading
from hops.kinds.ladder import section
from hops.kinds.ladder.analysis import ladder_steps
from hops.kinds.ladder.arms import steps_of
from hops.kinds.ladder.document import Ladder, ladder_of
from hops.kinds.ladder.sidecar_pairs import sidecar_pairs
from hops.kinds.ladder.tables import ladder_elements
from hops.report.view import Kind
from hops.run.documents.summary import Summary
from hops.run.files import RunFiles
from hops.tables.validity import trust_elements
from hops.tables.view import SummaryView
from hops.terminal.render import rendered


def pairs_of(run: RunFiles) -> list[tuple[str, str]]:
    """The two arms of each step: most others differ in several things at once."""
    return [(step.upper, step.lower) for step in steps_of(run.topologies)]


def figures_of(measured: Measured) -> Mapping[str, Ladder]:
    """What each step adds, and what sidecars add to a call."""
    calls = of_ok(measured.run, measured.run.calls)
    steps = ladder_steps(measured.journeys, measured.hops, measured.load, measured.blocks)
    return {"ladder": Ladder(steps=steps, sidecar_pairs=sidecar_pairs(calls, measured.blocks))}


def terminal(summary: Summary) -> Group:
    """The first section of the report, and whether to trust it."""
    view = SummaryView(summary)
    return rendered([Heading("What each step adds"), *ladder_elements(ladder_of(summary)), *trust_elements(view)])


KIND = Kind(
    "What does each thing around and inside the topology add, and do traces say the same as the clock?",
    terminal,
    pairs_of=pairs_of,
    figures_of=figures_of,
    conclusions=section.section,
    arms="arms of a ladder",
)
