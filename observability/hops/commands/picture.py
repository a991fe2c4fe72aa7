"""`python -m hops picture`: draws a comparison's answer as one picture, such as the README's."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from hops.errors import HopsError
from hops.report.picture import picture


def picture_command(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder with a comparison's report.md.")],
) -> None:
    """Draw a comparison's hop budgets, p50 and core-hours as one SVG: FOLDER/answer.svg, from FOLDER/report.md."""
    try:
        drawn = picture((folder / "report.md").read_text(encoding="utf-8"))
        (folder / "answer.svg").write_text(drawn, encoding="utf-8")
    except (HopsError, OSError) as error:
        print(f"hops: {error}", file=sys.stderr)
        raise typer.Exit(1) from error
    print(folder / "answer.svg")
