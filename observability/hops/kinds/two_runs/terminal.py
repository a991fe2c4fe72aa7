"""Two runs compared with each other, on a terminal."""

from __future__ import annotations

from rich.console import Group

from hops.kinds.two_runs.analysis import RunsComparison
from hops.kinds.two_runs.tables import SHOWN_METRICS, runs_sections
from hops.terminal.render import render


def runs_view(comparison: RunsComparison) -> Group:
    """Shows which runs these are, how they differ, the figures, what is shown, and the verdict on the threshold."""
    return render(element for section in runs_sections(comparison, SHOWN_METRICS) for element in section.elements)
