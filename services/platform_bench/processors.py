"""Which processor runs what."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator

import psutil


@contextlib.contextmanager
def set_apart(measured: Iterable[int], beside: Iterable[int]) -> Iterator[None]:
    """Gives processes that are measured a processor to themselves for as long as the context lasts.

    Otherwise the load generator, the database and the threads of a gRPC server take turns on all processors, and what a
    call costs depends on how they meet: by a tenth from one round to the next, and by a fiftieth with this. It does
    nothing where there is one processor, or where the system is not Linux.

    Args:
        measured: Ids of the processes; one at a time works.
        beside: Ids of the processes that they work with; they have the other processors, as this process has with what
            it starts meanwhile.
    """
    allowed = os.sched_getaffinity(0) if sys.platform == "linux" else set()
    if len(allowed) < 2:
        yield
        return
    apart = {max(allowed)}
    others = [os.getpid(), *beside]
    try:
        _pin(others, allowed - apart)
        _pin(measured, apart)
        yield
    finally:
        _pin(others, allowed)


def _pin(processes: Iterable[int], processors: set[int]) -> None:
    """Lets every thread of processes run on some processors only."""
    for pid in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            for thread in psutil.Process(pid).threads():
                with contextlib.suppress(ProcessLookupError):
                    os.sched_setaffinity(thread.id, processors)
