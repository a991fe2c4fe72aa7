"""A table once, for the page, for Markdown, for CSV and for the terminal: the four cannot disagree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from hops.elements import numbers

Value = str | float | int | None


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure or word.

    Args:
        text: as people read it.
        value: as programs do; what the page sorts by.
        ends: of the 95 % interval, or nothing if the column has none.
        signed: whether the interval's ends carry a plus.
        tone: class of the page's style sheet: `best`, `bad`, `heat3`, ...
        note: after the text, smaller.
        share: of a whole, 0 to 1, which page and terminal draw as a bar; None for no bar.
    """

    text: str
    value: Value = None
    ends: tuple[float | None, float | None] | None = None
    signed: bool = False
    tone: str = ""
    note: str = ""
    share: float | None = None

    @property
    def sort_value(self) -> str:
        """What the page sorts a figure by: as exact as needed, and the same on every machine."""
        return f"{self.value:.6g}" if isinstance(self.value, int | float) else ""

    @property
    def interval(self) -> str:
        """The interval in words; empty if there is none."""
        return "" if self.ends is None else numbers.interval(self.ends, signed=self.signed)


@dataclass(frozen=True, slots=True)
class Column:
    """What a column holds.

    Args:
        name: its head.
        unit: below the head; none for words and counts.
        numeric: aligned right, sorted by value.
        interval: whether its cells have one; CSV then also has `_low` and `_high`.
        spare: which columns a terminal leaves out where the table is too wide for it: those with the highest number
            first, all of one number together. 0 stays.
    """

    name: str
    unit: str = ""
    numeric: bool = True
    interval: bool = False
    spare: int = 0

    @property
    def key(self) -> str:
        """The name in CSV."""
        return slug(f"{self.name} {self.unit}".replace("%", "percent"))


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its caption.

    Args:
        key: name of the CSV file, and part of ids on the page.
        caption: what it shows, and in which unit.
        columns: in order; the first `heads` name the row.
        rows: as many cells as columns each.
        heads: how many columns name the row.
        totals: how many rows at the end are sums, which sorting leaves there.
        csv: whether it gets a CSV file.
    """

    key: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]] = field(default_factory=list)
    heads: int = 1
    totals: int = 0
    csv: bool = True


def words(text: str, tone: str = "") -> Cell:
    """A cell of words."""
    return Cell(text, text, tone=tone)


def number(
    value: float | None, *, signed: bool = False, tone: str = "", note: str = "", share: float | None = None
) -> Cell:
    """A cell with a measured figure."""
    return Cell(numbers.plain(value, signed=signed), value, tone=tone, note=note, share=share)


def whole(value: float | None) -> Cell:
    """A cell with a count."""
    return Cell(numbers.count(value), value)


def estimate(value: float | None, ends: Sequence[float | None], *, signed: bool = False, tone: str = "") -> Cell:
    """A cell with a figure and its interval."""
    low, high = ends
    return Cell(numbers.plain(value, signed=signed), value, (low, high), signed, tone)


def slug(text: str) -> str:
    """Small letters, digits and underscores only."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "_"
