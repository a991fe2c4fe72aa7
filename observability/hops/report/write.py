"""Writes the report of a run: the page, Markdown, and CSV files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from hops.conclusions.notes import verdict_sentence
from hops.elements.element import Section
from hops.report import chart
from hops.report.contents import all_sections
from hops.report.csv_files import write_csv_files
from hops.report.facts import http_fact, load_facts, machine_facts, mesh_fact, network_fact, replicas_fact
from hops.report.markdown import markdown
from hops.report.templates import render, source
from hops.report.view import Kind, View
from hops.run.documents.summary import Summary
from hops.run.files import RunFiles
from hops.run.rows import write_whole

PAGE = "report.html"
MARKDOWN = "report.md"
CSV = "csv"


def write_report(run: RunFiles, summary: Summary, folder: Path, kind: Kind) -> Path:
    """Writes `report.html`, `report.md` and `csv/`, each file whole or not at all.

    Args:
        run: as read.
        summary: as analysed.
        folder: where to; usually the run's own.
        kind: of the experiment.

    Returns:
        The page.

    Raises:
        OSError: The disk is full, or the folder cannot be written.
    """
    chart.restart_ids()
    view = View(summary, run, kind)
    verdict, told = verdict_sentence(summary), facts(view)
    return write_sections(
        all_sections(view),
        folder,
        template="report.html",
        title=f"{' · '.join(view.measured)}: {summary['name']}",
        lines=[verdict, *(f"{name}: {text}" for name, text in told)],
        valid=summary["valid"],
        name=summary["name"],
        kind=kind.called or summary["kind"],
        question=kind.question,
        verdict=verdict,
        facts=told,
        topologies=", ".join(view.measured),
        key=view.topology_key,
    )


def write_sections(
    sections: Sequence[Section],
    folder: Path,
    *,
    template: str,
    title: str,
    lines: Sequence[str],
    valid: bool,
    **values: object,
) -> Path:
    """Writes sections as a page, as Markdown, and their tables as CSV, each file whole or not at all.

    Args:
        sections: Sections in order.
        folder: Folder to write into.
        template: Template of the page.
        title: What was measured; gets the word SUSPECT if the figures are not valid.
        lines: Lines below the title in Markdown.
        valid: Whether the figures may be trusted.
        values: What else the template needs.

    Returns:
        The page.

    Raises:
        OSError: The disk is full, or the folder cannot be written.
    """
    title = title if valid else f"SUSPECT: {title}"
    page = render(
        template,
        title=title,
        valid=valid,
        sections=sections,
        style=source("style.css"),
        script=source("sort.js"),
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        **values,
    )
    _write(folder / PAGE, str(page))
    _write(folder / MARKDOWN, markdown(title, lines, sections, suspect=not valid))
    write_csv_files(sections, folder / CSV)
    return folder / PAGE


def facts(view: View) -> list[tuple[str, str]]:
    """The run in a few lines, below the title."""
    loads, machine = dict(load_facts(view)), dict(machine_facts(view.run.manifest))
    journeys = view.run.journeys.height
    network, http, mesh, replicas = network_fact(view), http_fact(view), mesh_fact(view), replicas_fact(view)
    return [
        (
            "journeys",
            f"{journeys:,} in {view.summary['blocks']} {'block' if view.summary['blocks'] == 1 else 'blocks'}",
        ),
        ("load", loads["load"]),
        *([("network", network)] if network else []),
        *([("clients speak", http)] if http else []),
        *([("mesh", mesh)] if mesh else []),
        *([("replicas", replicas)] if replicas else []),
        ("machine", machine["machine"]),
        ("measured", machine["when"]),
    ]


def _write(path: Path, text: str) -> None:
    write_whole(path, lambda scratch: scratch.write_text(text, encoding="utf-8"))
