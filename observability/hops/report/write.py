"""Writes the report of a run: the page, Markdown, and CSV files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hops.conclusions.notes import verdict_sentence
from hops.conclusions.wording import mark_lines, plural
from hops.elements.compared import TOPOLOGY
from hops.elements.element import Section
from hops.elements.markdown import markdown
from hops.gates.verdict import MEANING
from hops.report.contents import all_sections
from hops.report.csv_files import write_csv_files
from hops.report.facts import http_fact, load_facts, machine_facts, network_fact, of_each
from hops.report.templates import render, source
from hops.report.view import Kind, View
from hops.run.documents.gate import Verdict
from hops.run.documents.summary import Summary
from hops.run.files import RunFiles
from hops.run.rows import write_whole
from hops.run.switches import mesh_text, replicas_text

PAGE = "report.html"
MARKDOWN = "report.md"
CSV = "csv"


@dataclass(frozen=True)
class Page:
    """The contents of a report; `trust` begins with the verdict, and `answer` is its title; empty if there is none."""

    name: str
    kind: str
    question: str
    measured: Sequence[str]
    verdict: Verdict
    trust: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]
    answer: str = ""


def write_report(run: RunFiles, summary: Summary, folder: Path, kind: Kind) -> None:
    """Writes `report.html`, `report.md` and `csv/` of a run in blocks, each file whole or not at all.

    Raises:
        OSError: The disk is full, or the folder cannot be written.
    """
    view = View(summary, run, kind)
    of_what = "" if view.compared is TOPOLOGY else f" of {view.compared.many}"
    page = Page(
        name=summary["name"],
        kind=(kind.called or summary["kind"]) + of_what,
        question=kind.question.format(noun=view.compared),
        answer=kind.title(summary),
        measured=view.measured,
        verdict=summary["verdict"],
        trust=verdict_sentence(summary),
        facts=facts(view),
        sections=all_sections(view),
    )
    lines = [page.trust, *(f"{name}: {text}" for name, text in page.facts)]
    files = write_csv_files(page.sections, folder / CSV)
    write_html(page, folder / PAGE)
    _write(folder / MARKDOWN, markdown(_title(page), lines, page.sections, [file.name for file in files]))


def write_html(page: Page, file: Path) -> None:
    """Writes only a page, as one self-contained file.

    Raises:
        OSError: The disk is full, or the file cannot be written.
    """
    html = render(
        "report.html",
        page=page,
        title=_title(page),
        meaning=MEANING[page.verdict],
        style=source("style.css"),
        ids=[],  # of tables on the page: each id occurs once, as two tables can have the same key
        script=source("page.js"),
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )
    _write(file, str(html))


def facts(view: View) -> list[tuple[str, str]]:
    """Describes the run in a few lines, below the title."""
    loads, machine = dict(load_facts(view)), dict(machine_facts(view.run.manifest))
    special = {
        "network": network_fact(view),
        "clients speak": http_fact(view),
        "mesh": of_each(view, mesh_text),
        "replicas": of_each(view, replicas_text),
    }
    return [
        ("journeys", f"{view.run.journeys.height:,} in {plural(view.summary['blocks'], 'block')}"),
        ("load", loads["load"]),
        *((name, text) for name, text in special.items() if text),
        ("machine", machine["machine"]),
        ("measured", machine["when"]),
    ]


def _title(page: Page) -> str:
    title = f"{' · '.join(page.measured)}: {page.name}"
    return mark_lines(page.verdict, [title])[0]


def _write(path: Path, text: str) -> None:
    write_whole(path, lambda scratch: scratch.write_text(text, encoding="utf-8"))
