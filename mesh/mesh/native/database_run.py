"""Runs PostgreSQL alone, to inspect the data that a run has left behind."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext

from mesh.components.postgres import POSTGRES, Database, database, postgres_components, require_external
from mesh.description.ports import Ports
from mesh.paths import RunFolder
from mesh.supervisor.process_record import lock_holder
from mesh.supervisor.processes import Component
from mesh.supervisor.run import Run


def database_run(db: Database, ports: Ports, folder: RunFolder) -> Run:
    """A run of the database alone."""
    return Run(ports, folder, database_ports(db), lambda: database_components(db, folder, ports))


@contextmanager
def open_database(ports: Ports, environ: Mapping[str, str] | None = None) -> Iterator[Database]:
    """The database of a port base: the running server, else a new server for the duration of the context.

    `DATABASE_URL` is read from `environ`; by default, that is the process's environment.
    """
    folder = RunFolder.of(ports.base)
    db = database(ports, os.environ if environ is None else environ, folder)
    with nullcontext() if lock_holder(folder) is not None else database_run(db, ports, folder):
        yield db


def database_ports(db: Database) -> Sequence[str]:
    """Names of the ports that the project's server listens on."""
    return [POSTGRES] if db.embedded else []


def database_components(db: Database, folder: RunFolder, ports: Ports) -> list[Component]:
    """What to run for the database; nothing for an external server.

    Raises:
        StartError: The external server does not answer, or this machine cannot run PostgreSQL for this user.
    """
    if db.embedded:
        return postgres_components(folder, ports)
    require_external(db)
    return []
