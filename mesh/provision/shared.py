"""Files made once for all checkouts of this user: they are in the shared cache, and each checkout has links to them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from provision.step import POLL_S, pause, say


def link_to_shared(link: Path, target: Path, make: Callable[[Path], None]) -> None:
    """Puts a link into this checkout, to a file or folder in the cache; makes the target if it is missing.

    The target is in a separate folder, and must appear atomically.
    """
    with _locked(target.parent):
        if not target.exists():
            make(target)
    link.parent.mkdir(parents=True, exist_ok=True)
    new = link.with_name(f".{link.name}.{os.getpid()}")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    new.replace(link)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Holds the folder's lock, so that two checkouts do not make the same thing at the same time."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        if not _take(lock):
            say(f"Another checkout is making {folder.name}; waiting for it …")
            while not _take(lock):
                pause(POLL_S)
        yield


def _take(lock: TextIO) -> bool:
    """Takes a lock unless another process has it; returns whether it is ours."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
