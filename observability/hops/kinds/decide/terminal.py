"""The decision on a terminal, in a few aligned lines."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text as RichText

from hops.kinds.decide.analysis import Decision
from hops.kinds.decide.conclusions import decision_lines, decision_title


def decision_view(decision: Decision) -> Group:
    """Shows the title, and each line after its topic."""
    grid = RichTable.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for about, text in decision_lines(decision):
        grid.add_row(RichText(about), RichText(text))
    head: list[RenderableType] = [RichText(decision["notice"], "bold")] if decision["notice"] else []
    return Group(*head, RichText(decision_title(decision), "bold"), grid)
