"""The same words for a comparison of something else than topologies."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from hops.elements.element import Element, Figures, Fold, Heading, Points, Section, Text
from hops.elements.table import Cell, Table

TARGET = "target"
"""What is compared where it is not the shop: there is no edge to reach."""

_TOPOLOGY = re.compile(r"\b(?:([Aa]) )?([Tt])opolog(y|ies)\b")
_SETTING = re.compile(r"\bretry=(\d)")
_OF_THE_SHOP = re.compile(r"\b(shop|edge)\b")


def in_words_of(text: str, compared: str) -> str:
    """A text on topologies as one on what is compared.

    >>> in_words_of("No topology is slower; a topology behind topologies", "edge")
    'No edge is slower; an edge behind edges'
    >>> in_words_of("The shop is slow: retry=1", "target")
    'The target is slow: --retry 1'

    Args:
        text: Text in plain English.
        compared: Noun in the singular, such as `edge`; or `topology`, which changes nothing. Where it is `TARGET`, it
            takes the place of the shop and its edge too, and settings are options of `hopwise`.
    """

    def other(found: re.Match[str]) -> str:
        article, first, ending = found.groups()
        noun = compared.capitalize() if first == "T" else compared
        an = f"{article}n " if compared[0] in "aeiou" else f"{article} "
        return (an if article else "") + noun + ("s" if ending == "ies" else "")

    if compared == "topology":
        return text
    renamed = _TOPOLOGY.sub(other, text)
    return _SETTING.sub(r"--retry \1", _OF_THE_SHOP.sub(TARGET, renamed)) if compared == TARGET else renamed


def of_compared(section: Section, compared: str) -> Section:
    """A section in the words of what is compared."""
    if compared == "topology":
        return section
    title = in_words_of(section.title, compared)
    return replace(section, title=title, elements=elements_of_compared(section.elements, compared))


def elements_of_compared(elements: Iterable[Element], compared: str) -> list[Element]:
    """Elements in the words of what is compared; drawings stay as they are."""
    return [_element(one, compared) for one in elements] if compared != "topology" else list(elements)


def _element(one: Element, compared: str) -> Element:
    match one:
        case Text() | Heading() | Figures():
            return replace(one, text=in_words_of(one.text, compared))
        case Points():
            return replace(one, items=[in_words_of(item, compared) for item in one.items])
        case Fold():
            title = in_words_of(one.title, compared)
            return replace(one, title=title, elements=elements_of_compared(one.elements, compared))
        case Table():
            columns = [replace(column, name=in_words_of(column.name, compared)) for column in one.columns]
            rows = [[_cell(cell, compared) for cell in row] for row in one.rows]
            return replace(one, caption=in_words_of(one.caption, compared), columns=columns, rows=rows)
        case _:
            return one


def _cell(cell: Cell, compared: str) -> Cell:
    return replace(cell, text=in_words_of(cell.text, compared), note=in_words_of(cell.note, compared))
