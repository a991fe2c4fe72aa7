"""The clock of one service steps: libfaketime gives it another time than the machine's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from experiment.faults.strike import LASTS_S, Strike, Wait, files_of
from mesh.native.system import System

LIBRARY = "faketime/libfaketimeMT.so.1"
"""In a folder of libraries; Debian's package is `libfaketime`."""
FOLDERS = ("/usr/lib/*", "/usr/lib", "/usr/lib64", "/usr/local/lib")
RIGHT, AHEAD = "+0", "+3600"


@contextmanager
def stepped(system: System, target: str) -> Iterator[tuple[System, Strike]]:
    """Prepares a step of a service's wall clock; monotonic clocks stay what they are, as after a step of NTP."""
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
    """Says that libfaketime is missing, if it is."""
    return "" if faketime() else "libfaketime, such as Debian's package `libfaketime`"


def faketime() -> Path | None:
    """Where libfaketime is on this machine; None if it is not."""
    found = (path for folder in FOLDERS for path in Path("/").glob(f"{folder.lstrip('/')}/{LIBRARY}"))
    return next(found, None)
