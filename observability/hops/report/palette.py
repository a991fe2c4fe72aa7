"""Colours, dashes, shapes and textures: each colour is paired with one of the others, so that colour is never alone.

The hues are those of Okabe and Ito ("Color Universal Design", 2008), darker on a light page and lighter on a dark one.
So each keeps a contrast of 3:1. They are variables in `page/style.css`; a chart names the variable, so that it follows
the reader's choice of light or dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hops.budget.groups import GROUPS

_DASHES: tuple[tuple[int, ...], ...] = ((1, 0), (7, 3), (2, 2), (8, 3, 2, 3), (12, 4), (4, 2), (1, 3), (6, 2, 1, 2))
_SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "triangle-right", "triangle-left")


@dataclass(frozen=True, slots=True)
class Look:
    """How one topology is drawn.

    Args:
        name: Name of the topology.
        index: Index of the topology in the summary, from 0.
        color: Colour, as CSS.
        dash: Dash pattern of the lines: lengths of dash and gap, in pixels.
        shape: Shape of the points, as Vega names it.
    """

    name: str
    index: int
    color: str
    dash: tuple[int, ...]
    shape: str


def looks(topologies: Sequence[str]) -> list[Look]:
    """Gives each topology a look; looks repeat after eight."""
    return [
        Look(name, index, f"var(--t{index % 8})", _DASHES[index % 8], _SHAPES[index % 8])
        for index, name in enumerate(topologies)
    ]


def group_fill(group: str) -> str:
    """Gives the fill of a group's bars: a texture of the page, in the group's colour."""
    return f"url(#{group_class(group)})"


def group_class(group: str) -> str:
    """Gives the class of a group's bars in the page's own drawings."""
    return f"g{GROUPS.index(group)}"
