"""What a section is made of; the page and Markdown each know how to write every kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from hops.report.chart import Chart
from hops.report.table import Table


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
class Heading:
    """A heading inside a section."""

    text: str


@dataclass(frozen=True, slots=True)
class Figures:
    """Charts beside each other, with what their marks stand for above.

    Args:
        charts: as drawn.
        key: (class of the mark, its name) of each entry of the legend.
        text: how to read them; plain text.
        wide: for charts that take the width of the page.
    """

    charts: Sequence[Chart]
    key: Sequence[tuple[str, str]] = ()
    text: str = ""
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Drawing:
    """Markup of the page's own, such as a waterfall; Markdown leaves it out."""

    markup: Markup


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks behind a line that opens them; in print they are open."""

    title: str
    blocks: Sequence[Block] = field(default_factory=list)
    opened: bool = False


Block = Text | Points | Heading | Figures | Drawing | Fold | Table


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the report.

    Args:
        key: its id.
        title: its heading.
        blocks: in order.
    """

    key: str
    title: str
    blocks: Sequence[Block]
