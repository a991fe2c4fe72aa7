"""A short form of the report in Markdown, for papers and pull requests: verdict, conclusions, main tables, gates.

It leaves out most folds, detail sections and spare columns. The page and the CSV files, which its last line names, have
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from hops.elements.element import Drawing, Element, Figures, Fold, Heading, Points, Section, Terms, Text
from hops.elements.table import MAX_SPARE, Cell, Column, Table

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")


def markdown(title: str, lines: Sequence[str], sections: Iterable[Section], files: Sequence[str] = ()) -> str:
    """Writes the short form of the report."""
    out = [f"# {_safe(title)}", ""]
    out += [*(f"{_safe(line)}  " for line in lines), ""] if lines else []
    for section in sections:
        inside = [] if section.detail else [line for one in _without_empty(section.elements) for line in _element(one)]
        out += [f"## {_safe(section.title)}", "", *inside] if inside else []
    if files:
        out += [f"Charts and details are in report.html, whole tables in csv/: {_safe(', '.join(files))}."]
    return "\n".join(out).rstrip() + "\n"


def _without_empty(elements: Sequence[Element]) -> Iterator[Element]:
    left = [one for one in elements if any(_element(one))]
    for one, following in zip_longest(left, left[1:]):
        if not isinstance(one, Heading) or not (following is None or isinstance(following, Heading)):
            yield one


def _element(element: Element) -> Iterator[str]:
    match element:
        case Text():
            yield from (_safe(element.text), "")
        case Points():
            yield from (*(f"- {_safe(item)}" for item in element.items), "")
        case Terms():
            yield from (*(f"- **{_safe(term)}**: {_safe(meaning)}" for term, meaning in element.items), "")
        case Heading():
            yield from (f"### {_safe(element.text)}", "")
        case Fold():
            if element.brief:
                yield from (f"### {_safe(element.title)}", "")
                for inner in element.elements:
                    yield from _element(inner)
        case Table():
            yield from _table(element)
        case Figures() | Drawing():
            return  # the page has the drawings; the tables next to them have their figures


def _table(table: Table) -> Iterator[str]:
    yield from (f"**{_safe(table.caption)}**", "")
    kept = [index for index, column in enumerate(table.columns) if column.spare <= MAX_SPARE]
    columns = [table.columns[index] for index in kept]
    yield "| " + " | ".join(map(_head, columns)) + " |"
    yield "|" + "|".join("---:" if column.numeric else "---" for column in columns) + "|"
    for row in table.rows:
        yield "| " + " | ".join(_cell(row[index]) for index in kept) + " |"
    yield ""


def _head(column: Column) -> str:
    return _safe(column.name if not column.unit else f"{column.name}, {column.unit}")


def _cell(cell: Cell) -> str:
    note = f" {cell.note}" if cell.note else ""
    return _safe(f"{cell.text} ({cell.interval}){note}" if cell.interval else f"{cell.text}{note}")


def _safe(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
