"""What tests read from a page: its sections in order, its tables, and what it loads."""

from __future__ import annotations

import csv
import functools
import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from hops.kinds import make_report, show_run
from hops.terminal.console import terminal
from synthetic.run import write_generated_run

SECTIONS = [
    "conclusions", "budgets", "meetings", "distance", "resources", "latency", "boxes", "exemplars", "bytes", "rate",
    "validity", "observer", "setup", "manifest", "glossary",
]  # fmt: skip

_UNREAD = ("style", "script", "svg")


class Page(HTMLParser):
    """Collects what the tests check: sections, headings, tables, words, and everything that loads or runs something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.sections: list[str] = []
        self.headings: dict[str, str] = {}
        self.tables: dict[str, list[list[str]]] = {}
        self.loads: list[str] = []
        self.tags: list[str] = []
        self._heading = self._table = ""
        self._cell = False
        self._words: list[str] = []
        self._unread = 0
        self.feed(text)

    @property
    def text(self) -> str:
        """The page's words, without the words of drawings."""
        return " ".join(" ".join(self._words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append(tag)
        self._unread += tag in _UNREAD
        self.loads += [value for name in ("src", "href", "srcset", "action") if (value := found.get(name))]
        if tag == "section":
            self.sections.append(found["id"] or "")
        if tag == "h2":
            self._heading = (found["id"] or "").removesuffix("-title")
            self.headings[self._heading] = ""
        if tag == "table":
            self._table = (found.get("id") or "").removeprefix("table-")
            self.tables[self._table] = []
        if tag == "tr" and self._table:
            self.tables[self._table].append([])
        if tag in ("td", "th") and self._table:
            self.tables[self._table][-1].append("")
            self._cell = True

    def handle_endtag(self, tag: str) -> None:
        self._unread -= tag in _UNREAD
        if tag == "h2":
            self._heading = ""
        if tag in ("td", "th"):
            self._cell = False
        if tag == "table":
            self._table = ""

    def handle_data(self, data: str) -> None:
        data = data.replace("\N{NO-BREAK SPACE}", " ")
        if not self._unread:
            self._words.append(data)
        if self._heading:
            self.headings[self._heading] += data
        if self._cell:
            self.tables[self._table][-1][-1] += data


def reported_run(folder: Path, **options: Any) -> Path:
    """Makes up a run, with its report."""
    write_generated_run(folder, **options)
    make_report(folder)
    return folder


@contextmanager
def edited(file: Path) -> Iterator[dict[str, Any]]:
    """Writes what the context changes in the document of a JSON file."""
    document = json.loads(file.read_text(encoding="utf-8"))
    yield document
    file.write_text(json.dumps(document), encoding="utf-8")


def page_of(folder: Path) -> Page:
    return _read((folder / "report.html").read_text(encoding="utf-8"))


@functools.lru_cache(maxsize=4)
def _read(text: str) -> Page:
    return Page(text)


def markdown_of(folder: Path) -> str:
    """Returns the report in Markdown, without its backslashes."""
    return (folder / "report.md").read_text(encoding="utf-8").replace("\\", "")


def csv_rows(folder: Path, key: str) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "csv" / f"{key}.csv").read_text(encoding="utf-8").splitlines()))


def print_view(view: Any, width: int = 400) -> str:
    """Returns what a terminal of this width shows."""
    out = io.StringIO()
    terminal(out, width=width).print(view)
    return out.getvalue()


def check_terminal(folder: Path, *, least: int) -> None:
    """Checks that each figure on the terminal is on the page, and that there are enough figures."""
    shown = print_view(show_run(json.loads((folder / "summary.json").read_text(encoding="utf-8"))))
    figures = set(re.findall(r"[−+]?\d[\d.,]*\d", shown))
    assert len(figures) > least
    text = page_of(folder).text
    assert {figure for figure in figures if figure not in text} == set()
