"""The folder of a run's results: `results/<utc>-<name>/`."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from experiment.errors import UsageError
from mesh.paths import ROOT

NEEDED_BYTES = 1 << 30
"""Space that a run may need, with room to spare: a few MiB for its files, the rest for its database and logs."""
FOLDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
PARTIAL, INCOMPLETE, LOCK = ".partial", ".incomplete", ".lock"


class ResultsFolder:
    """A run's folder, which gets its final name only when the run is complete."""

    def __init__(self, final: Path) -> None:
        self.final = final
        self.path = final.with_name(f".{final.name}{PARTIAL}")
        self._lock: int | None = None

    @classmethod
    def new(cls, root: Path, name: str) -> ResultsFolder:
        """Makes the folder of a run that begins now; raises UsageError for an invalid name, or without room."""
        require_folder_name(name)
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        folder = cls(_choose_unused(root, f"{stamp}-{name}"))
        try:
            folder.path.mkdir(parents=True, exist_ok=False)
        except OSError as error:
            raise UsageError(f"results cannot be written below {root}: {error.strerror}") from error
        try:
            folder._take()
        except UsageError:
            folder.set_aside()
            raise
        return folder

    @property
    def existing(self) -> Path:
        """Current path of the folder, which is in use or set aside."""
        return self.path if self.path.exists() else self._aside

    @property
    def _aside(self) -> Path:
        return self.final.with_name(self.final.name + INCOMPLETE)

    @property
    def has_trials(self) -> bool:
        """Whether any trial is finished; unfinished trials, whose folders are hidden, do not count."""
        return any(self.existing.glob("trials/[!.]*"))

    def reopen(self) -> None:
        """Reopens the folder of an interrupted run; raises UsageError if it is in use, or the disk is full."""
        if self.existing != self.path:
            self.existing.rename(self.path)
        self._take()

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Writes a JSON file, completely or not at all."""
        write_json(self.path / name, value)

    def publish(self, *, latest: bool = True) -> Path:
        """Gives the folder its final name and returns its path.

        Args:
            latest: Whether `latest` points to the folder from now on. The folder must then contain the files that
                `find_run` looks for.
        """
        self.release()
        (self.path / LOCK).unlink(missing_ok=True)
        self.path.rename(self.final)
        if latest:
            scratch = self.final.parent / f".latest-{os.getpid()}"
            scratch.unlink(missing_ok=True)
            scratch.symlink_to(self.final.name)
            scratch.replace(self.final.parent / "latest")
        return self.final

    def set_aside(self) -> Path | None:
        """Renames an unfinished run's folder to `<utc>-<name>.incomplete` and returns it; removes an empty one."""
        if not self.path.exists():
            return None
        self.release()
        if {entry.name for entry in self.path.iterdir()} <= {LOCK}:
            shutil.rmtree(self.path)
            return None
        return self.path.rename(self._aside)

    def _take(self) -> None:
        # The kernel releases the lock when the process that holds it ends, even if it crashes.
        lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(lock)
            raise UsageError(f"{self.final.name} is still being written by another process") from error
        self._lock = lock
        check_room(self.path)

    def release(self) -> None:
        """Lets another process open the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def require_folder_name(name: str) -> None:
    """Raises UsageError unless a name is valid for a folder, and does not lead to another folder."""
    if not FOLDER_NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is not a valid name for a results folder: begin with a letter or digit, and use at most 100 "
            "letters, digits, dots and hyphens"
        )


def find_unfinished(root: Path, holds: str) -> list[ResultsFolder]:
    """Finds the folders of interrupted runs that contain a file named `holds`, the newest first."""
    paths = {}
    for path in root.glob(f"*/{holds}"):
        name = path.parent.name
        if name.startswith(".") and name.endswith(PARTIAL):
            paths[name[1:].removesuffix(PARTIAL)] = path
        elif name.endswith(INCOMPLETE):
            paths[name.removesuffix(INCOMPLETE)] = path
    return [ResultsFolder(root / name) for name in sorted(paths, reverse=True)]


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Writes a JSON file, completely or not at all."""
    scratch = path.with_name(f".{path.name}.partial")
    scratch.unlink(missing_ok=True)
    with scratch.open("x", encoding="utf-8") as file:  # does not follow a symbolic link
        file.write(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    scratch.replace(path)


def read_json(path: Path) -> dict[str, Any]:
    """Reads a JSON file of a run; raises UsageError, which names the file, if it is missing or not JSON."""
    try:
        value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not valid JSON; the file may be truncated: {error}") from error
    if not isinstance(value, dict):
        raise UsageError(f"{path} is not a document of a run")
    return value


def check_room(path: Path, needed: int = NEEDED_BYTES) -> None:
    """Raises UsageError, which says how much is free, if the disk below `path` has fewer than `needed` bytes."""
    free = shutil.disk_usage(path).free
    if free < needed:
        raise UsageError(
            f"the disk of {path} has {free / 2**20:.0f} MiB free, but a run may need {needed / 2**20:.0f} MiB: "
            "free some space (`make clean` removes what can be rebuilt) and try again"
        )


def find_run(root: Path, run: str, name: str = "run", holds: Sequence[str] = ("summary.json",)) -> Path:
    """Returns the folder of a finished run.

    Args:
        run: `latest`, a folder's name, or a path.
        holds: Names of files, at least one of which the folder must contain.

    Raises:
        UsageError: There is no such run; the message lists the newest runs.
    """
    for candidate in (root / run, Path(run)):
        if run and any((candidate / file).is_file() for file in holds):
            return candidate.resolve()
    there = finished_runs(root, *holds)
    if there:
        listed = f"available: {', '.join(there[:5])}"
    elif others := finished_runs(root, "report.html"):
        listed = (
            f"the runs there, such as {others[0]}, have no {holds[0]}; runs of bench, compare, ladder and rates have "
            "it: run `make bench` first"
        )
    else:
        listed = "there are no runs yet: run `make bench` first"
    raise UsageError(f"{name}={run} is not a finished run in {root}; {listed}")


def finished_runs(root: Path, *holds: str) -> list[str]:
    """Returns the names of the finished runs whose folders contain one of these files, the newest first."""
    names = {path.parent.name for file in holds for path in root.glob(f"2*/{file}")}
    return sorted((name for name in names if not name.endswith(INCOMPLETE)), reverse=True)


def _choose_unused(root: Path, name: str) -> Path:
    candidate, number = root / name, 1
    while candidate.exists() or (root / f".{candidate.name}.partial").exists():
        number += 1
        candidate = root / f"{name}-{number}"
    return candidate


RESULTS = ROOT / "results"
