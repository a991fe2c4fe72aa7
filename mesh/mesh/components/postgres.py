"""PostgreSQL with a private data folder, or the server that DATABASE_URL names."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from mesh.components.postgres_owner import Cluster, open_cluster
from mesh.description.places import Places
from mesh.description.ports import HOST, Ports
from mesh.errors import InputError, StartError
from mesh.paths import RunFolder, write_private
from mesh.supervisor.processes import STORE_RANK, Component
from mesh.supervisor.readiness import postmaster_ready

POSTGRES = "postgres"
SETTINGS: Mapping[str, str] = {
    "listen_addresses": HOST,
    # No socket file: its path would have to be short, and two checkouts would have to agree on it.
    "unix_socket_directories": "",
    "max_connections": "300",
    "shared_buffers": "128MB",
    "jit": "off",  # compiling a short query takes longer than running it
    "io_method": "sync",  # everything is in memory; worker processes would only add wake-ups
    "max_wal_size": "2GB",  # a checkpoint in the middle of a trial would be measured as latency
    "checkpoint_timeout": "30min",
    "max_wal_senders": "0",
    "recovery_init_sync_method": "syncfs",  # after a crash: one call, not one for each of thousands of files
    "wal_level": "minimal",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    "log_min_messages": "warning",
    "log_error_verbosity": "terse",  # details quote rows: addresses, names, hashes of passwords
}
"""Durability is PostgreSQL's default: fsync and synchronous_commit are on, so that commits have their real cost."""
INITDB = (
    f"--username={POSTGRES}",
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-sync",
    "--no-instructions",
)
"""Options of `initdb`, in addition to the paths of the data and of the password file."""


@dataclass(frozen=True)
class Database:
    """The database server and every role's password; all passwords are derived from one password.

    Attributes:
        admin_url: A superuser's URL for the maintenance database, with the password.
        embedded: Whether this project starts the server.
    """

    admin_url: str = field(repr=False)
    embedded: bool

    def url(self, role: str, name: str) -> str:
        """The URL with which a service's role connects to a database of this server."""
        parts = urlsplit(self.admin_url)
        host = parts.netloc.rpartition("@")[2]
        netloc = f"{quote(role)}:{self.password(role)}@{host}"
        return urlunsplit((parts.scheme, netloc, f"/{quote(name)}", parts.query, ""))

    def admin_url_of(self, name: str) -> str:
        """The URL with which the superuser connects to a database of this server."""
        return urlunsplit(urlsplit(self.admin_url)._replace(path=f"/{quote(name)}"))

    def password(self, role: str) -> str:
        """The password of a service's role, derived from the superuser's, so that every process agrees on it. It
        reveals no other password."""
        secret = unquote(urlsplit(self.admin_url).password or "")
        return hmac.new(secret.encode(), role.encode(), hashlib.sha256).hexdigest()


def database(ports: Ports, environ: Mapping[str, str], folder: RunFolder) -> Database:
    """The database of a run: `DATABASE_URL` if it is set, else the embedded server.

    Raises:
        InputError: DATABASE_URL is not the URL of a PostgreSQL server, or has no password.
    """
    given = environ.get("DATABASE_URL", "")
    return external_database(given) if given else own_database(superuser_password(folder), ports)


def external_database(url: str) -> Database:
    """The server of DATABASE_URL; raises an InputError if that is not a PostgreSQL server's URL with a password."""
    if not (is_server_url(url, "postgresql", "postgres") and urlsplit(url).password):
        # The URL may contain a password, so it is not repeated.
        raise InputError(
            "DATABASE_URL: must look like postgresql://admin:password@host:5432/postgres. The password is needed: the "
            "services' passwords are derived from it."
        )
    return Database(url, embedded=False)


def own_database(password: str, places: Places) -> Database:
    """The server that this project starts itself."""
    (place,) = places.endpoints(POSTGRES)
    return Database(f"postgresql://{POSTGRES}:{password}@{place}/postgres", embedded=True)


def superuser_password(folder: RunFolder) -> str:
    """The password of the embedded server's superuser, made on first use."""
    path = folder.postgres_password
    if not path.is_file():
        new = path.with_name(f"{path.name}.{os.getpid()}")
        write_private(new, secrets.token_hex(32).encode())
        try:
            # A link, not a rename: if two runs start at once, both use the password that the first run made.
            path.hardlink_to(new)
        except FileExistsError:
            pass
        except OSError:  # not every file system has hard links
            new.rename(path)
        finally:
            new.unlink(missing_ok=True)
    return path.read_text()


def require_external(db: Database) -> None:
    """Checks that the server of DATABASE_URL answers; raises a StartError otherwise."""
    import psycopg

    try:
        psycopg.connect(db.admin_url, connect_timeout=5).close()
    except psycopg.Error as error:
        raise StartError(f"The server that DATABASE_URL names refuses the connection: {str(error).strip()}") from error


def postgres_components(folder: RunFolder, ports: Ports) -> list[Component]:
    """What to run for the embedded server: `initdb` on the first use of the folder, then the server.

    The folder's lock is held; the data stay in the folder, or where its link points.

    Raises:
        StartError: This machine cannot run PostgreSQL for this user.
    """
    cluster = open_cluster(folder)
    data, password = cluster.data, superuser_password(folder)
    new = _NewCluster(cluster, password)
    components = []
    if not new.is_done():
        if data.is_dir():
            print(f"The database in {data} has no password or a different one, so it is recreated.", file=sys.stderr)
        components.append(Component("initdb", argv=new.initdb, start_limit_s=60, stop_rank=STORE_RANK))

    def argv() -> Sequence[str]:
        new.take()
        settings = {**SETTINGS, "port": str(ports[POSTGRES])}
        if not sys.platform.startswith("linux"):  # no other system has the call syncfs
            del settings["recovery_init_sync_method"]
        options = [option for name, value in settings.items() for option in ("-c", f"{name}={value}")]
        return cluster.postgres("-D", str(data), *options)

    server = Component(
        POSTGRES,
        argv=argv,
        ready=postmaster_ready(data, ports[POSTGRES]),
        after=frozenset(component.name for component in components),
        start_limit_s=60,  # the server may have to replay its log after a crash
        stop_limit_s=20,
        stop_rank=STORE_RANK,
        stop_signal=signal.SIGINT,  # "fast": ends the sessions, and leaves a clean data folder
        death_signal=signal.SIGINT,
    )
    return [*components, server]


class _NewCluster:
    """Makes a cluster's data in a temporary folder, and moves them into place when they are complete."""

    def __init__(self, cluster: Cluster, password: str) -> None:
        self._cluster = cluster
        self._password = password
        self._new = cluster.data.with_name("postgres.new")
        self._password_file = cluster.data.with_name("postgres.new.password")
        # The password is a random number of 256 bits, so its digest does not reveal it.
        self._mark = f"{hashlib.sha256(password.encode()).hexdigest()} {cluster.owner and cluster.owner.uid}\n"

    def is_done(self) -> bool:
        """Whether the data are complete, with this password and for this owner."""
        try:
            return (self._cluster.data / "made-for").read_text() == self._mark
        except OSError:
            return False

    def initdb(self) -> Sequence[str]:
        """The command line that makes the data."""
        shutil.rmtree(self._new, ignore_errors=True)
        self._new.mkdir(mode=0o700)
        self._cluster.give_to_maker(self._new)
        write_private(self._password_file, self._password.encode())
        self._cluster.give_to_maker(self._password_file)
        return self._cluster.initdb("-D", str(self._new), f"--pwfile={self._password_file}", *INITDB)

    def take(self) -> None:
        """Moves the data that `initdb` has made into place; does nothing if they are already there."""
        if self.is_done():
            return
        self._password_file.unlink(missing_ok=True)
        shutil.rmtree(self._cluster.data, ignore_errors=True)
        (self._new / "made-for").write_text(self._mark)
        self._cluster.give_to_owner(self._new)
        self._new.rename(self._cluster.data)


def is_server_url(text: str, *schemes: str) -> bool:
    """Whether a text is a URL of one of these schemes, with a host and, if there is one, a valid port."""
    try:
        parts = urlsplit(text)
        return parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
