"""The elements of a section, for the page, Markdown and the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from hops.elements.table import Table


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph of plain text; `tone` is a class of the style sheet."""

    text: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Points:
    """Sentences in a list."""

    items: Sequence[str]
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms with their meanings."""

    items: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading inside a section."""

    text: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing with its texts."""

    title: str
    description: str
    drawn: Callable[[], Markup]
    note: str = ""

    @property
    def svg(self) -> Markup:
        """The drawing, safe to put into the page."""
        return self.drawn()


@dataclass(frozen=True, slots=True)
class Figures:
    """A row of charts below a legend of their marks; only the page has them.

    Args:
        key: For each entry of the legend, the class of the mark and its name.
        wide: Whether the charts take the width of the page.
        narrow: The same charts for a narrow screen, if `charts` would be unreadable there.
    """

    charts: Sequence[Chart]
    key: Sequence[tuple[str, str]] = ()
    text: str = ""
    wide: bool = False
    narrow: Sequence[Chart] = ()


@dataclass(frozen=True, slots=True)
class Drawing:
    """Markup for the page, such as a waterfall; only the page has it."""

    markup: Markup


@dataclass(frozen=True, slots=True)
class Fold:
    """Elements that a reader opens; a printed page shows open ones, and Markdown only `brief` ones."""

    title: str
    elements: Sequence[Element]
    opened: bool = False
    brief: bool = False


Element = Text | Points | Terms | Heading | Figures | Drawing | Fold | Table


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the report; Markdown leaves out a `detail`, and the page folds a `folded` one."""

    key: str
    title: str
    elements: Sequence[Element]
    detail: bool = False
    folded: bool = False
