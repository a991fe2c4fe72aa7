"""The kind of experiment that isolates one kind of journey."""

from __future__ import annotations

from collections.abc import Mapping

from hops.analysis.summary import Measured
from hops.kinds.isolate.analysis import isolation_of
from hops.kinds.isolate.document import AS_IS, Isolation, disturber_of
from hops.kinds.isolate.tables import section
from hops.report.view import Kind
from hops.run.files import RunFiles


def pairs_of(run: RunFiles) -> list[tuple[str, str]]:
    """Pairs `as-is` with each arm that replays the same tape: different journeys cannot be compared directly."""
    return [(arm, AS_IS) for arm in run.topologies if arm != AS_IS and run.tape_of(arm) == run.tape_of(AS_IS)]


def figures_of(measured: Measured) -> Mapping[str, Isolation]:
    """Computes the gain of each arm."""
    return {"isolation": isolation_of(measured.journeys, disturber_of(measured.journeys))}


KIND = Kind(
    "How much faster do other journeys get without this one, and was that predicted?",
    pairs_of=pairs_of,
    figures_of=figures_of,
    conclusions=section,
    arms="arms of an isolation",
)
