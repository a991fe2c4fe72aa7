"""The fault `clock`: libfaketime steps the clock of one service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from experiment.faults.strike import LASTS_S, Strike, Wait, files_of
from mesh.native.system import System

LIBRARY = "faketime/libfaketimeMT.so.1"
"""Path of libfaketime below a library folder, as Debian's package `libfaketime` installs it."""
FOLDERS = ("/usr/lib/*", "/usr/lib", "/usr/lib64", "/usr/local/lib")
RIGHT, AHEAD = "+0", "+3600"


@contextmanager
def prepare_clock_step(system: System, target: str) -> Iterator[tuple[System, Strike]]:
    """Prepares a step of a service's wall clock; as when NTP steps a clock, the monotonic clocks do not change."""
    time = files_of(system) / "faketime"
    time.write_text(RIGHT, encoding="utf-8")

    def strike(wait: Wait) -> None:
        time.write_text(AHEAD, encoding="utf-8")
        try:
            wait(LASTS_S)
        finally:
            time.write_text(RIGHT, encoding="utf-8")

    settings = {
        "LD_PRELOAD": str(faketime()),
        "FAKETIME_TIMESTAMP_FILE": str(time),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    yield system.with_settings({target: settings}), strike


def no_faketime() -> str:
    """Returns the name of the library libfaketime if it is missing, and an empty string otherwise."""
    return "" if faketime() else "libfaketime, such as Debian's package `libfaketime`"


def faketime() -> Path | None:
    """Finds libfaketime on this machine; returns None if the library is missing."""
    paths = (path for folder in FOLDERS for path in Path("/").glob(f"{folder.lstrip('/')}/{LIBRARY}"))
    return next(paths, None)
