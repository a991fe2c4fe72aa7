"""A table once, for the page, for Markdown, for CSV and for the terminal: the four cannot disagree."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from hops.elements import numbers

Value = str | float | int | None
Row = TypeVar("Row")
MAX_SPARE = 2
"""Columns with a higher `spare` are in the page and in CSV files alone."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure or word.

    Args:
        text: Text for people.
        value: Value for programs, by which the page sorts.
        ends: Ends of the 95 % interval; None if the column has none.
        signed: Whether the interval's ends carry a plus.
        tone: Class of the page's style sheet: `best`, `bad`, `heat3`, ...
        note: Words after the text, smaller.
        share: Share of a whole, 0 to 1, which page and terminal draw as a bar; None for no bar.
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
        name: Head of the column.
        unit: Unit below the head; empty for words and counts.
        numeric: Whether the cells are figures: aligned right, sorted by value.
        interval: Whether its cells have one; CSV then also has `_low` and `_high`.
        spare: Which columns a terminal leaves out where the table is too wide for it: those with the highest number
            first, all of one number together. 0 stays. Markdown leaves out those above `MAX_SPARE`.
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
        key: Name of the CSV file, and part of ids on the page.
        caption: What the table shows, and in which unit.
        columns: Columns in order; the first `heads` name the row.
        rows: Rows, with as many cells as there are columns.
        heads: How many columns name the row.
        totals: How many rows at the end are sums, which sorting leaves there.
        csv: Whether it gets a CSV file.
    """

    key: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]] = field(default_factory=list)
    heads: int = 1
    totals: int = 0
    csv: bool = True


def table_of(
    key: str,
    caption: str,
    rows: Iterable[Row],
    columns: Sequence[tuple[Column, Callable[[Row], Cell]]],
    *,
    heads: int = 1,
    totals: int = 0,
) -> Table:
    """Makes a table of rows that are alike.

    Args:
        key: As `Table` has it; so are the caption, `heads` and `totals`.
        caption: What the table shows, and in which unit.
        rows: What the rows are made of.
        columns: Each column, and what makes its cell of a row.
        heads: How many columns name the row.
        totals: How many rows at the end are sums.
    """
    cells = [[cell(row) for _, cell in columns] for row in rows]
    return Table(key, caption, [column for column, _ in columns], cells, heads, totals)


def texts(*fields: str) -> list[tuple[Column, Callable[[Any], Cell]]]:
    """Columns of words for `table_of`, each a field of the rows and named like it."""
    return [(Column(name, numeric=False), partial(_field, name)) for name in fields]


def _field(name: str, row: Any) -> Cell:
    return words(row[name])


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
