"""Renders the elements of a report on a terminal of 80 columns or more, in the same words and figures as the page.

Nothing is shown by colour alone. A table that is too wide for the terminal drops columns, and says which. Columns
with the highest `Column.spare` go first, all columns with the same number together; then columns from the right, until
the rest fits. No figure is ever cut off. Charts and drawings are only in the page.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text as RichText

from hops.elements import numbers
from hops.elements.element import Drawing, Element, Figures, Fold, Heading, Points, Terms, Text
from hops.elements.table import Cell, Column, Table

BAR_CELLS = 10
_FOLDED = 32
"""Maximum width of notes and words; longer ones are wrapped."""
_NOTE = 12
"""Maximum width of a note below a figure, so that figures stay near each other."""
_COLUMN_GAP = 2
_BOLD = "bold"
_BOLD_TONES = ("verdict", "notice")


def render(elements: Iterable[Element]) -> Group:
    """Renders all elements in sequence, with an empty line after each."""
    return Group(*(part for element in elements for part in _parts(element)))


def _parts(element: Element) -> Iterator[RenderableType]:
    match element:
        case Text():
            yield from (RichText(element.text, _BOLD if element.tone in _BOLD_TONES else ""), RichText())
        case Points():
            if element.items:
                yield _points(element.items)
        case Terms():
            yield _points([f"{term}: {meaning}" for term, meaning in element.items])
        case Heading():
            yield RichText(element.text, _BOLD)
        case Fold():
            yield RichText(element.title, _BOLD)
            for inner in element.elements:
                yield from _parts(inner)
        case Table():
            yield _FittedTable(element)
        case Figures() | Drawing():
            return


def _points(texts: Sequence[str]) -> Group:
    """Renders each point after a dash, with continuation lines indented."""
    grid = RichTable.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=1)
    grid.add_column(overflow="fold")
    for text in texts:
        grid.add_row(RichText("-"), RichText(text))
    return Group(grid, RichText())


class _FittedTable:
    def __init__(self, table: Table) -> None:
        self._table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        columns = [_Column(self._table, index) for index in range(len(self._table.columns))]
        kept = self._fitting(columns, options.max_width)
        left_out = [one.column.name for one in columns if one not in kept]
        note = f" (left out for width: {'; '.join(left_out)})" if left_out else ""
        yield RichText.assemble((self._table.caption, _BOLD), note)
        yield self._draw(kept)

    def _fitting(self, columns: Sequence[_Column], width: int) -> list[_Column]:
        kept, least = list(columns), self._table.heads + 1
        while sum(one.width + _COLUMN_GAP + one.bars for one in kept) > width and len(kept) > least:
            spare = max(one.column.spare for one in kept)
            kept = [one for one in kept if one.column.spare < spare] if spare else kept[:-1]
        return kept

    def _draw(self, columns: Sequence[_Column]) -> RichTable:
        table = RichTable(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for one in columns:
            one.add_to(table)
        rows = self._table.rows
        names = [row[0].text for row in rows]
        # If several columns name a row, a new group begins where the first name changes.
        grouped = self._table.heads > 1 and len(set(names)) < len(names)
        for index, row in enumerate(rows):
            new_group = grouped and names[index] != names[index - 1]
            if index and (new_group or index == len(rows) - self._table.totals):
                table.add_section()
            table.add_row(*(RichText(text) for one in columns for text in one.texts[index]))
            assert len(row) == len(self._table.columns)
        return table


class _Column:
    """A column as the terminal shows it; bars are in separate columns next to their figures."""

    def __init__(self, table: Table, index: int) -> None:
        self.column: Column = table.columns[index]
        cells = [row[index] for row in table.rows]
        self._most = max((cell.share for cell in cells if cell.share is not None), default=None)
        self.texts = [self._of(cell) for cell in cells]
        lines = [line for texts in self.texts for line in texts[0].splitlines()]
        longest = max(map(len, lines), default=0)
        self.width = min(longest, _FOLDED) if not self.column.numeric else longest
        head = textwrap.wrap(self.column.name, max(self.width, *map(len, self.column.name.split() or [""]), 1))
        self.head = [*head, self.column.unit] if self.column.unit else head
        self.width = max([self.width, *map(len, self.head)])
        self.bars = 0 if self._most is None else len(numbers.share(1.0)) + BAR_CELLS + 2 * _COLUMN_GAP

    def add_to(self, table: RichTable) -> None:
        """Adds this column to a table, and the columns for its bars, if there are any."""
        justify = "right" if self.column.numeric else "left"
        least = None if self.width >= _FOLDED else self.width
        table.add_column(RichText("\n".join(self.head)), justify=justify, overflow="fold", min_width=least)  # type: ignore[arg-type]
        if self.bars:
            table.add_column(RichText("share"), justify="right", no_wrap=True)
            table.add_column("", no_wrap=True, min_width=BAR_CELLS)

    def _of(self, cell: Cell) -> list[str]:
        notes = textwrap.wrap(cell.note, _FOLDED if not self.column.numeric else max(len(cell.text), _NOTE))
        text = "\n".join(filter(None, [cell.text, cell.interval, *notes]))
        if self._most is None:
            return [text]
        if cell.share is None:
            return [text, "", ""]
        return [text, numbers.share(cell.share), _bar(cell.share / self._most if self._most else 0.0)]


def _bar(share: float) -> str:
    eighths = round(max(0.0, min(1.0, share)) * BAR_CELLS * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[rest]
