"""Writes the report of a run: the page, Markdown, and CSV files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from hops.conclusions.notes import verdict_sentence
from hops.conclusions.wording import plural
from hops.elements.element import Section
from hops.report import chart
from hops.report.contents import all_sections
from hops.report.csv_files import write_csv_files
from hops.report.facts import load_facts, machine_facts
from hops.report.markdown import markdown
from hops.report.page import render, source
from hops.report.view import View
from hops.run.documents import Summary
from hops.run.files import RunFiles
from hops.run.rows import write_whole

PAGE = "report.html"
MARKDOWN = "report.md"
CSV = "csv"


def write_report(run: RunFiles, summary: Summary, folder: Path) -> Path:
    """Writes `report.html`, `report.md` and `csv/`, each file whole or not at all.

    Args:
        run: as read.
        summary: as analysed.
        folder: where to; usually the run's own.

    Returns:
        The page.

    Raises:
        OSError: the disk is full, or the folder cannot be written.
    """
    chart.restart_ids()
    view = View(summary, run)
    sections = all_sections(view)
    page = folder / PAGE
    _write(page, page_text(view, sections))
    _write(folder / MARKDOWN, markdown_text(view, sections))
    write_csv_files(sections, folder / CSV)
    return page


def page_text(view: View, sections: Sequence[Section]) -> str:
    """The page."""
    return str(
        render(
            "report.html",
            title=title(view),
            name=view.summary["name"],
            kind=view.summary["kind"],
            valid=view.summary["valid"],
            verdict=verdict_sentence(view.summary),
            facts=facts(view),
            topologies=", ".join(view.topologies),
            key=view.topology_key,
            sections=sections,
            style=source("style.css"),
            script=source("sort.js"),
            written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        )
    )


def markdown_text(view: View, sections: Sequence[Section]) -> str:
    """The report without its drawings."""
    lines = [verdict_sentence(view.summary), *(f"{name}: {text}" for name, text in facts(view))]
    return markdown(title(view), lines, sections, suspect=not view.summary["valid"])


def title(view: View) -> str:
    """What the run compared, with the word if it is suspect."""
    name = " · ".join(view.topologies)
    return f"{name}: {view.summary['name']}" if view.summary["valid"] else f"SUSPECT: {name}: {view.summary['name']}"


def facts(view: View) -> list[tuple[str, str]]:
    """The run in a few lines, below the title."""
    loads, machine = dict(load_facts(view)), dict(machine_facts(view.run.manifest))
    journeys = view.run.journeys.height
    return [
        (
            "journeys",
            f"{journeys:,} in {plural(view.summary['blocks'], 'block')}",
        ),
        ("load", loads["load"]),
        ("machine", machine["machine"]),
        ("measured", machine["when"]),
    ]


def _write(path: Path, text: str) -> None:
    write_whole(path, lambda scratch: scratch.write_text(text, encoding="utf-8"))
