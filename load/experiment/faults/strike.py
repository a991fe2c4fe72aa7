"""What every fault is made of."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from mesh.native.system import System
from mesh.runtime import Runtime

LASTS_S = 3.0
"""How long a fault lasts that does not end by itself."""
Wait = Callable[[float], None]
"""Waits for some seconds, during which the other components must stay alive."""
Strike = Callable[[Wait], None]
"""Does a fault and undoes it."""
Prepared = AbstractContextManager[tuple[Runtime, Strike]]
"""A system to begin, and what will be done to it."""
Around = Callable[[Any, str], Prepared]
"""Prepares a fault of a system that has not begun, at a target; the system is of the kind that the fault is for."""


def files_of(system: System) -> Path:
    """The folder for the files of a fault, below that of the run."""
    folder = system.folder.path / "fault"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
