"""The console, and tables that stand on it alone."""

from __future__ import annotations

from typing import IO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table


def terminal(file: IO[str] | None = None, *, width: int | None = None, stderr: bool = False) -> Console:
    """Where everything that people read is printed: text stands there as it is.

    Names come from traces, topologies and files. On a console of rich's own making `GET /users/[id]` would lose its
    end, `gw[/red]` would end in a traceback, and `:key:` would become a picture.

    Args:
        file: standard output if not given.
        width: columns; the terminal's if not given.
        stderr: print to standard error.
    """
    return Console(file=file, width=width, stderr=stderr, markup=False, emoji=False, highlight=False)


def table_titled(title: str) -> Table:
    """An empty table under its title."""
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
