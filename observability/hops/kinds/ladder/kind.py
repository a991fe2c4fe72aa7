"""The kind of experiment that compares the arms of a ladder."""

from __future__ import annotations

from collections.abc import Mapping

from hops.analysis.summary import Measured, of_ok
from hops.kinds.ladder.analysis import ladder_steps
from hops.kinds.ladder.arms import steps_of
from hops.kinds.ladder.document import Ladder
from hops.kinds.ladder.sidecar_pairs import sidecar_pairs
from hops.kinds.ladder.tables import section
from hops.report.view import Kind
from hops.run.files import RunFiles


def pairs_of(run: RunFiles) -> list[tuple[str, str]]:
    """Gives the two arms of each step: most other pairs differ in several things at once."""
    return [(step.upper, step.lower) for step in steps_of(run.topologies)]


def figures_of(measured: Measured) -> Mapping[str, Ladder]:
    """Computes what each step adds, and what sidecars add to a call."""
    calls = of_ok(measured.run, measured.run.calls)
    steps = ladder_steps(measured.journeys, measured.hops, measured.load, measured.blocks)
    return {"ladder": Ladder(steps=steps, sidecar_pairs=sidecar_pairs(calls, measured.blocks))}


KIND = Kind(
    "What does each thing around and inside the topology add, and do traces say the same as the clock?",
    pairs_of=pairs_of,
    figures_of=figures_of,
    conclusions=section,
    arms="arms of a ladder",
)
