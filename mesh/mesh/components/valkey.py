"""Valkey as the services' cache: the run's own server, or the server of CACHE_URL."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from mesh.components.postgres import Database, is_server_url
from mesh.description.ports import HOST, Ports
from mesh.errors import InputError, StartError
from mesh.paths import RunFolder, valkey
from mesh.supervisor.processes import STORE_RANK, Component
from mesh.supervisor.readiness import accepts

VALKEY = "valkey"
CACHED = ("product", "user")
"""Services that read through the cache."""
MIN_VERSION = (7, 2)
SETTINGS: Mapping[str, str] = {
    "bind": HOST,
    "maxmemory": "64mb",
    "maxmemory-policy": "allkeys-lru",
    "save": '""',  # after a restart, the cache is empty
    "appendonly": "no",
}


@dataclass(frozen=True)
class Cache:
    """The cache of one run, at a URL with the password; `embedded` if this project starts the server.

    The namespace, the first part of every key, is new for each start, so that no trial reads an earlier trial's
    entries.
    """

    url: str = field(repr=False)
    embedded: bool
    namespace: str = field(default_factory=lambda: secrets.token_hex(4))


def cache(ports: Ports, environ: Mapping[str, str], database: Database) -> Cache:
    """The cache of a run: `CACHE_URL` if it is set, else the run's own server, whose password the database's gives.

    Raises:
        InputError: CACHE_URL is not the URL of a Valkey server.
    """
    given = environ.get("CACHE_URL", "")
    if not given:
        return Cache(f"valkey://:{database.password(VALKEY)}@{HOST}:{ports[VALKEY]}", embedded=True)
    if not is_server_url(given, "valkey", "redis") or urlsplit(given).query:
        # The URL may contain a password, so it is not repeated.
        raise InputError(
            "CACHE_URL: must look like valkey://:password@host:6379, or redis:// for Redis; without TLS, and without "
            "parameters."
        )
    return Cache(given, embedded=False)


def valkey_components(server: Cache, folder: RunFolder, ports: Ports) -> list[Component]:
    """What to run for the cache; nothing for an external server.

    Raises:
        NotInstalledError: There is no Valkey for this machine.
        StartError: The external server does not answer, or is too old.
    """
    if not server.embedded:
        require_external(server)
        return []
    program, file = valkey(), folder.config / "valkey.conf"
    settings = {**SETTINGS, "port": str(ports[VALKEY]), "requirepass": urlsplit(server.url).password or ""}
    # The password is in a private file, because every user can read a command line.
    file.touch(mode=0o600)
    file.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    argv = [str(program), str(file)]
    return [Component(VALKEY, argv=lambda: argv, ready=accepts(ports[VALKEY]), stop_rank=STORE_RANK)]


def require_external(server: Cache) -> None:
    """Checks that the server of CACHE_URL answers and is new enough; raises a StartError otherwise."""
    # Imported here, so that other runs need not wait for the import.
    from valkey import Valkey
    from valkey.exceptions import ValkeyError

    try:
        with Valkey.from_url(server.url, socket_timeout=5) as client:
            require_version(client.info("server"))
    except ValkeyError as error:
        raise StartError(f"The server that CACHE_URL names refuses the connection: {error}") from error


def require_version(info: Mapping[str, object]) -> None:
    """Raises a StartError if a server is older than `MIN_VERSION`, by its answer to `INFO server`."""
    name = "Valkey" if "valkey_version" in info else "Redis"
    version = str(info.get("valkey_version") or info.get("redis_version"))
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < MIN_VERSION:
        least = ".".join(map(str, MIN_VERSION))
        raise StartError(f"The server that CACHE_URL names is {name} {version}; needed: {least} or newer.")
