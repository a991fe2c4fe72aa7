"""Types that every fault uses."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from mesh.native.system import System
from mesh.runtime import Runtime

LASTS_S = 3.0
"""Length of a fault that does not end by itself."""
Wait = Callable[[float], None]
"""Waits for a number of seconds, during which the other components must stay alive."""
Strike = Callable[[Wait], None]
"""Causes a fault and undoes it."""
Prepared = AbstractContextManager[tuple[Runtime, Strike]]
"""A system to start, and the strike against it."""
Around = Callable[[Any, str], Prepared]
"""Prepares a fault at a target of a system that has not started; the fault determines the kind of system."""


def files_of(system: System) -> Path:
    """Returns the folder for a fault's files, which is inside the run's folder."""
    folder = system.folder.path / "fault"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
