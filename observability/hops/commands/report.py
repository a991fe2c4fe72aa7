"""`python -m hops report`: rebuilds a run's report from its files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from hops.errors import HopsError
from hops.run.documents.summary import Summary
from hops.run.files import SUMMARY, read_run


def report_command(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Results folder of the run.")],
) -> None:
    """Rebuild a run's summary.json, report.html, report.md and csv/ from its files."""
    try:
        summary, page = make_report(folder)
    except (HopsError, OSError) as error:
        print(f"hops: {error}", file=sys.stderr)
        raise typer.Exit(1) from error
    print(f"{page} ({'VALID' if summary['valid'] else 'SUSPECT'}, {page.stat().st_size / 1e6:.1f} MB)")


def make_report(folder: Path) -> tuple[Summary, Path]:
    """Reads a run, analyses it, and writes its summary and report.

    Args:
        folder: Folder of the run.

    Returns:
        The summary, and the page's path.

    Raises:
        HopsError: A file is missing, cut short, or of another schema.
        OSError: The disk is full, or the folder cannot be written.
    """
    from hops.kinds import analyse, write_report
    from hops.run.files import write_summary

    run = read_run(folder)
    summary = analyse(run, name=run.manifest["name"])
    write_summary(summary, folder / SUMMARY)
    return summary, write_report(run, summary, folder)
