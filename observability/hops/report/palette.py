"""Colours, dashes, shapes and textures: a colour has one meaning in the whole page, and is never the only distinction.

- **Topologies** are violet to rose; each has its own dashes and shape. Lines and marks are small, so their colours are
  vivid.
- **Groups of parts** have warm colours, greens and azure, ordered from the customer inwards; components outside the
  shop are grey-brown. Neighbours have different textures.
- **Heat maps** are blue-grey. Protocols differ in their dashes and have no colour.

The colours are variables in `page/style.css`, darker on a light page and lighter on a dark one, so that each keeps a
contrast of 3:1. A chart names the variable, so that it follows the reader's choice of light or dark.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from hops.budget.groups import GROUPS, group_of

_FILLED = (*GROUPS, "telemetry", "control plane")
"""Groups that have a fill: the groups of parts, and the groups of components that occur in no budget."""
_DASHES: tuple[tuple[int, ...], ...] = ((1, 0), (7, 3), (2, 2), (8, 3, 2, 3), (12, 4), (4, 2), (1, 3), (6, 2, 1, 2))
_SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "triangle-right", "triangle-left")


@dataclass(frozen=True, slots=True)
class Look:
    """How one topology is drawn; `index` is that in the summary, and `dash` has lengths of dash and gap, pixels."""

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
    return f"g{_FILLED.index(group)}"


def part_class(part: str) -> str:
    """Gives the class of a part's bars, which is that of its group."""
    return group_class(group_of(part))


def group_key(groups: Collection[str]) -> list[tuple[str, str]]:
    """Makes a legend: the mark of each of these groups of parts, and its name."""
    return [(f"fill {group_class(group)}", group) for group in GROUPS if group in groups]
