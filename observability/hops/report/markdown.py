"""The report's words and tables as Markdown, for papers and pull requests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from hops.elements.element import Drawing, Element, Figures, Fold, Heading, Points, Section, Terms, Text
from hops.elements.table import Cell, Column, Table

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")


def markdown(title: str, lines: Sequence[str], sections: Iterable[Section], *, suspect: bool) -> str:
    """Writes the whole report.

    Args:
        title: Heading of the page.
        lines: Lines below the heading.
        sections: Sections in order.
        suspect: Whether each section says SUSPECT.
    """
    out = [f"# {_safe(title)}", ""]
    out += [*(f"{_safe(line)}  " for line in lines), ""] if lines else []
    for section in sections:
        out += [f"## {'SUSPECT: ' if suspect else ''}{_safe(section.title)}", ""]
        for element in section.elements:
            out += _element(element)
    return "\n".join(out).rstrip() + "\n"


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
            yield from (f"### {_safe(element.title)}", "")
            for inner in element.elements:
                yield from _element(inner)
        case Table():
            yield from _table(element)
        case Figures() | Drawing():
            return  # the page has the drawings, the tables beside them have their figures


def _table(table: Table) -> Iterator[str]:
    yield from (f"**{_safe(table.caption)}**", "")
    yield "| " + " | ".join(_head(column) for column in table.columns) + " |"
    yield "|" + "|".join("---:" if column.numeric else "---" for column in table.columns) + "|"
    for row in table.rows:
        yield "| " + " | ".join(_cell(cell) for cell in row) + " |"
    yield ""


def _head(column: Column) -> str:
    return _safe(column.name if not column.unit else f"{column.name}, {column.unit}")


def _cell(cell: Cell) -> str:
    note = f" {cell.note}" if cell.note else ""
    return _safe(f"{cell.text} ({cell.interval}){note}" if cell.interval else f"{cell.text}{note}")


def _safe(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
