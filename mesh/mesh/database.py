"""PostgreSQL on a private data folder, or the server that DATABASE_URL names."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from mesh.errors import InputError, StartError
from mesh.paths import RunFolder, postgres_programs
from mesh.ports import HOST, Ports
from mesh.processes import Component
from mesh.readiness import postmaster_ready

POSTGRES = "postgres"
NOBODY = 65534
SETTINGS: Mapping[str, str] = {
    "listen_addresses": HOST,
    # No socket file: its path would have to be short, and two checkouts would have to agree on it.
    "unix_socket_directories": "",
    "max_connections": "100",
    "shared_buffers": "128MB",
    "jit": "off",  # it compiles the short queries of a shop for longer than they run
    "io_method": "sync",  # everything is in memory; worker processes would only add wake-ups
    "max_wal_size": "2GB",  # a checkpoint in the middle of a trial would be measured as latency
    "checkpoint_timeout": "30min",
    "max_wal_senders": "0",
    "wal_level": "minimal",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    "log_min_messages": "warning",
}
"""Durability is PostgreSQL's default: fsync and synchronous_commit are on, so that a commit costs what it costs."""


@dataclass(frozen=True)
class Database:
    """Where the data are.

    Attributes:
        admin_url: a superuser's URL of the maintenance database.
        embedded: whether this project starts the server.
    """

    admin_url: str
    embedded: bool

    def url(self, role: str, name: str) -> str:
        """The URL of a service's role (whose password is its name) on a database of this server."""
        parts = urlsplit(self.admin_url)
        host = parts.netloc.rpartition("@")[2]
        netloc = f"{quote(role)}:{quote(role)}@{host}"
        return urlunsplit((parts.scheme, netloc, f"/{quote(name)}", parts.query, ""))


def database(ports: Ports, environ: Mapping[str, str]) -> Database:
    """The database of a run: `DATABASE_URL` if it is set, else the embedded server.

    Raises:
        InputError: DATABASE_URL is not the URL of a PostgreSQL server.
    """
    given = environ.get("DATABASE_URL", "")
    if not given:
        return Database(f"postgresql://postgres@{ports.address(POSTGRES)}/postgres", embedded=True)
    parts = urlsplit(given)
    if parts.scheme not in ("postgresql", "postgres") or not parts.hostname:
        # The URL may hold a password, so it is not repeated.
        raise InputError("DATABASE_URL: must look like postgresql://admin:password@host:5432/postgres")
    return Database(given, embedded=False)


def require_external(db: Database) -> None:
    """Check that the server that DATABASE_URL names answers.

    Raises:
        StartError: it does not.
    """
    import psycopg

    try:
        psycopg.connect(db.admin_url, connect_timeout=5).close()
    except psycopg.Error as error:
        raise StartError(f"The server of DATABASE_URL does not let us in: {str(error).strip()}") from error


def postgres_components(folder: RunFolder, ports: Ports) -> list[Component]:
    """What to run for the embedded server: `initdb` on the first use of the folder, then the server.

    Args:
        folder: of the run; the data stay there.
        ports: of the run.
    """
    data = folder.postgres
    new = data.with_name("postgres.new")
    components = []
    if not (data / "PG_VERSION").is_file():
        components.append(Component("initdb", argv=lambda: _initdb(new), start_limit_s=60, stop_rank=9))
    programs = postgres_programs()

    def argv() -> Sequence[str]:
        if not (data / "PG_VERSION").is_file():
            # Renamed only when whole, so that an initdb that was cut off is not taken for a database.
            shutil.rmtree(data, ignore_errors=True)
            new.rename(data)
        settings = {**SETTINGS, "port": str(ports[POSTGRES])}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [*_as_owner(data), str(programs / "postgres"), "-D", str(data), *options]

    server = Component(
        POSTGRES,
        argv=argv,
        ready=postmaster_ready(data, ports[POSTGRES]),
        after=frozenset(component.name for component in components),
        start_limit_s=60,  # it may have to replay its log after a crash
        stop_limit_s=20,
        stop_rank=9,
        stop_signal=signal.SIGINT,  # "fast": ends the sessions, and leaves a clean data folder
        death_signal=signal.SIGINT,
    )
    return [*components, server]


def _initdb(new: Path) -> Sequence[str]:
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(mode=0o700)
    if os.geteuid() == 0:
        os.chown(new, NOBODY, NOBODY)
    options = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--locale-provider=builtin"]
    options += ["--builtin-locale=C.UTF-8", "--no-sync", "--no-instructions"]
    return [*_as_owner(new), str(postgres_programs() / "initdb"), "-D", str(new), *options]


def _as_owner(data: Path) -> list[str]:
    """The start of a command line that runs as the data folder's owner, for a root that PostgreSQL refuses to serve.

    The checkout may be in a folder that only root can enter, such as /root. So the process keeps one capability of
    root, to pass by file permissions, and loses all others; nothing on the machine's disk has to change.

    Raises:
        StartError: this machine cannot do that.
    """
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise StartError(
            "PostgreSQL does not run as root, and there is no `setpriv` (of util-linux) to change users with. "
            "Run as another user, or set DATABASE_URL to a server of yours."
        )
    owner = data.stat()
    uid, gid = (owner.st_uid, owner.st_gid) if owner.st_uid != 0 else (NOBODY, NOBODY)
    caps = "-all,+dac_override"
    return [
        *(setpriv, f"--reuid={uid}", f"--regid={gid}", "--clear-groups"),
        *(f"--inh-caps={caps}", f"--ambient-caps={caps}", f"--bounding-set={caps}"),
    ]
