"""The tables as CSV: figures as measured, with separate columns for the ends of an interval."""

from __future__ import annotations

import csv
import errno
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path

from hops.elements.element import Element, Fold, Section
from hops.elements.table import Cell, Column, Table, Value, slug
from hops.run.rows import write_whole


def write_csv_files(sections: Iterable[Section], folder: Path) -> list[Path]:
    """Writes a file for each table into a folder, which is made if missing, and lists the files.

    Files of tables that an earlier report had, and this one does not, are removed.

    Raises:
        OSError: The disk is full, or the folder cannot be written to or is a symbolic link.
    """
    if folder.is_symlink():
        raise OSError(errno.ELOOP, "reports are not written through symbolic links; remove this link", str(folder))
    folder.mkdir(exist_ok=True)
    written = []
    tables = list(tables_of(element for section in sections for element in section.elements))
    for name, table in zip(_unique([slug(table.key) for table in tables]), tables, strict=True):
        path = folder / f"{name}.csv"
        text = csv_text(table)
        write_whole(path, lambda scratch, text=text: scratch.write_text(text, encoding="utf-8", newline=""))  # type: ignore[misc]
        written.append(path)
    for old in {*folder.glob("*.csv")} - {*written}:
        old.unlink()
    return written


def tables_of(elements: Iterable[Element]) -> Iterator[Table]:
    """Finds every table, including those in folds."""
    for element in elements:
        if isinstance(element, Table):
            yield element
        elif isinstance(element, Fold):
            yield from tables_of(element.elements)


def csv_text(table: Table) -> str:
    """Formats one table as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_unique([name for column in table.columns for name in _names(column)]))
    for row in table.rows:
        cells = zip(table.columns, row, strict=True)
        writer.writerow([value for column, cell in cells for value in _values(column, cell)])
    return out.getvalue()


def _unique(names: Sequence[str]) -> list[str]:
    """Numbers repeated names: `get_a`, `get_a_2`."""
    unique: list[str] = []
    for name in names:
        numbered = (f"{name}_{number}" for number in count(2))
        unique.append(name if name not in unique else next(one for one in numbered if one not in unique))
    return unique


def _names(column: Column) -> Sequence[str]:
    return [column.key, f"{column.key}_low", f"{column.key}_high"] if column.interval else [column.key]


def _values(column: Column, cell: Cell) -> Sequence[Value]:
    return [cell.value, *(cell.ends or (None, None))] if column.interval else [cell.value]
