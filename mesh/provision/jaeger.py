"""Jaeger, built once per version for all checkouts of this user."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from provision.golang import build as build_go
from provision.paths import BIN, ROOT, cache
from provision.step import say

MODULE = ROOT / "observability" / "jaeger" / "build"
COMMAND = "github.com/jaegertracing/jaeger/cmd/jaeger"
LINK = BIN / "jaeger"


def build() -> None:
    """Put `.tools/bin/jaeger` in place: a link into the shared cache, where Jaeger is built if it is not there yet.

    Raises:
        SetupError: a module cannot be fetched, or it does not compile.
    """
    program = cached()
    with _alone(program.parent):
        if not program.is_file():
            hint = "5 min on 2 cores, once; later checkouts find it in the cache"
            build_go("Jaeger", MODULE, COMMAND, program, hint)
    BIN.mkdir(parents=True, exist_ok=True)
    link = LINK.with_name(f".jaeger.{os.getpid()}")
    link.unlink(missing_ok=True)
    link.symlink_to(program)
    link.replace(LINK)


def cached() -> Path:
    """Where this version's program is, or will be: the folder's name has its version and the hash of its pins."""
    pins = (MODULE / "go.mod").read_bytes() + (MODULE / "go.sum").read_bytes()
    found = re.search(r"jaegertracing/jaeger v(\S+)", pins.decode())
    version = found.group(1) if found else "unknown"
    return cache() / f"jaeger-{version}-{hashlib.sha256(pins).hexdigest()[:12]}" / "jaeger"


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, so that two checkouts do not build the same thing at the same time."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another checkout is building Jaeger; waiting for it …")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
