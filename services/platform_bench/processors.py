"""Which processor runs what."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable

import psutil


def set_apart(measured: Iterable[int]) -> None:
    """Gives processes that are measured a processor of their own, and the rest to this process and its other children.

    Otherwise the load generator, the database and the threads of a gRPC server take turns on all processors, and what a
    call costs depends on how they meet: by a tenth from one round to the next, and by a fiftieth with this. It does
    nothing where there is one processor, or where the system is not Linux.

    Args:
        measured: Ids of the processes; one at a time works.
    """
    if sys.platform != "linux":
        return
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        return
    apart, rest = {allowed[-1]}, set(allowed[:-1])
    chosen = set(measured)
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            for thread in process.threads():
                with contextlib.suppress(ProcessLookupError):
                    os.sched_setaffinity(thread.id, apart if process.pid in chosen else rest)
