"""Runs Jaeger alone, to inspect the traces that a run has left behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from mesh.components.jaeger import jaeger_component, jaeger_ports
from mesh.description.ports import Ports
from mesh.paths import RunFolder
from mesh.supervisor.process_record import lock_holder
from mesh.supervisor.run import Run


@contextmanager
def open_trace_store(ports: Ports) -> Iterator[bool]:
    """The Jaeger of a port base: the running Jaeger, else a new Jaeger for the duration of the context.

    Yields:
        Whether Jaeger was started here, and thus ends with the context.
    """
    folder = RunFolder.of(ports.base)
    runs = lock_holder(folder) is not None
    jaeger = Run(ports, folder, jaeger_ports(ports), lambda: [jaeger_component(ports, os.environ, folder)])
    with nullcontext() if runs else jaeger:
        yield not runs
