"""One table for the page, for Markdown, for CSV and for the terminal, so that the four cannot disagree."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from hops.elements import numbers

Value = str | float | int | None
Row = TypeVar("Row")
MAX_SPARE = 2
"""Columns with a higher `spare` are only in the page and in CSV files."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure or word.

    Args:
        value: Value for programs; the page sorts by it.
        ends: Ends of the 95 % interval; None if the column has no intervals.
        tone: Class of the page's style sheet: `best`, `bad`, `heat3`, ...
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
        """Value by which the page sorts: exact enough, and the same on every machine."""
        return f"{self.value:.6g}" if isinstance(self.value, int | float) else ""

    @property
    def interval(self) -> str:
        """The interval in words; empty without an interval."""
        return "" if self.ends is None else numbers.interval(self.ends, signed=self.signed)


@dataclass(frozen=True, slots=True)
class Column:
    """Definition of a column.

    Args:
        unit: Unit below the head; empty for words and counts.
        numeric: Whether the cells are figures: aligned right, sorted by value.
        interval: Whether its cells have intervals; CSV then has two more columns, with the suffixes `_low` and `_high`.
        spare: Order in which a terminal leaves out columns if the table is too wide: the highest number first, all
            columns with the same number together. Columns with 0 stay. Markdown leaves out columns above `MAX_SPARE`.
    """

    name: str
    unit: str = ""
    numeric: bool = True
    interval: bool = False
    spare: int = 0

    @property
    def key(self) -> str:
        """Name in CSV."""
        return slug(f"{self.name} {self.unit}".replace("%", "percent").replace("µ", "u"))


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its caption.

    Args:
        key: Name of the CSV file, and part of ids on the page.
        columns: Columns in order; the first `heads` name the row.
        totals: Number of rows at the end that are sums, which sorting does not move.
    """

    key: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    heads: int = 1
    totals: int = 0


def table_of(
    key: str,
    caption: str,
    rows: Iterable[Row],
    columns: Sequence[tuple[Column, Callable[[Row], Cell]]],
    *,
    heads: int = 1,
) -> Table:
    """Makes a table with a row for each item; each column has a function that makes its cell from an item."""
    cells = [[cell(row) for _, cell in columns] for row in rows]
    return Table(key, caption, [column for column, _ in columns], cells, heads)


def texts(*fields: str) -> list[tuple[Column, Callable[[Any], Cell]]]:
    """Makes columns of words for `table_of`, each named after the field that it shows."""
    return [(Column(name, numeric=False), partial(_field, name)) for name in fields]


def _field(name: str, row: Any) -> Cell:
    return words(row[name])


def words(text: str, tone: str = "") -> Cell:
    """Makes a cell of words."""
    return Cell(text, text, tone=tone)


def number(value: float | None, *, signed: bool = False, share: float | None = None) -> Cell:
    """Makes a cell with a measured figure."""
    return Cell(numbers.plain(value, signed=signed), value, share=share)


def percent(share: float | None) -> Cell:
    """Makes a cell with a share, 0 to 1, for a column in percent."""
    return number(None if share is None else 100 * share)


def whole(value: float | None) -> Cell:
    """Makes a cell with a count."""
    return Cell(numbers.count(value), value)


def estimate(value: float | None, ends: Sequence[float | None], *, signed: bool = False) -> Cell:
    """Makes a cell with a figure and its interval."""
    low, high = ends
    return Cell(numbers.plain(value, signed=signed), value, (low, high), signed)


def slug(text: str) -> str:
    """Converts a text to lower-case letters, digits and underscores."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "_"
