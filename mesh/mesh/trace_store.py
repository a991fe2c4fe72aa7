"""Jaeger alone, for looking at traces that a run has kept."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from mesh.jaeger import PORTS, jaeger_component
from mesh.paths import RunFolder
from mesh.ports import Ports
from mesh.process_record import lock_holder
from mesh.processes import Component
from mesh.run import Run


class TraceStoreRun(Run):
    """Jaeger alone.

    Args:
        ports: of the run.
        folder: of the run.
        environ: `JAEGER_BIN` is read from it.
    """

    def __init__(self, ports: Ports, folder: RunFolder, environ: Mapping[str, str]) -> None:
        super().__init__(ports, folder)
        self._environ = environ

    def port_names(self) -> list[str]:
        """The ports that must be free before the start."""
        return list(PORTS)

    def components(self) -> Sequence[Component]:
        """What to run."""
        return [jaeger_component(self.ports, self._environ)]


@contextmanager
def open_trace_store(ports: Ports, environ: Mapping[str, str] | None = None) -> Iterator[bool]:
    """The Jaeger of a port base: the one that runs there now, else one started for the block.

    Args:
        ports: of the run.
        environ: `JAEGER_BIN` is read from it.

    Yields:
        Whether it was started for the block, and ends with it.
    """
    folder = RunFolder.of(ports.base)
    if lock_holder(folder) is not None:
        yield False
        return
    with TraceStoreRun(ports, folder, os.environ if environ is None else environ):
        yield True
