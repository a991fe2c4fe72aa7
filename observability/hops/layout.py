"""How every table and title of a run looks."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.table import Table

from hops.bands import ALL
from hops.figures import JourneySummary, Mode, TopologySummary

#: Stands for a figure that was not measured.
NOTHING = "-"


def table_titled(title: str) -> Table:
    """An empty table under its title."""
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )


def marked(title: str, mode: Mode) -> str:
    """A title, marked if its figures are of a closed loop."""
    return title if mode == "open" else f"Closed loop: {title[0].lower()}{title[1:]}"


def all_last(topology: TopologySummary) -> list[tuple[str, JourneySummary]]:
    """The journeys by name, and `all` last."""
    journeys = topology["journeys"]
    return [(name, journeys[name]) for name in [*sorted(name for name in journeys if name != ALL), ALL]]
