"""`hopwise report`: rebuilds a run's report from its files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from hops.errors import HopsError
from hops.kinds import make_report


def report_command(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Results folder of the run.")],
) -> None:
    """Rebuild a run's summary, report.html, report.md and csv/ from its files."""
    try:
        page, verdict = make_report(folder)
    except (HopsError, OSError) as error:
        print(f"hops: {error}", file=sys.stderr)
        raise typer.Exit(1) from error
    print(f"{page} ({verdict}, {page.stat().st_size / 1e6:.1f} MB)")
