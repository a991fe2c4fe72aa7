"""The console that every command prints on."""

from __future__ import annotations

from typing import IO

from rich.console import Console


def terminal(file: IO[str] | None = None, *, width: int | None = None, stderr: bool = False) -> Console:
    """Makes a console that prints text unchanged.

    Names come from traces, topologies and files. On a console with rich's default settings, `GET /users/[id]` would
    lose its end, `gw[/red]` would cause a traceback, and `:key:` would become a picture.
    """
    return Console(file=file, width=width, stderr=stderr, markup=False, emoji=False, highlight=False)
