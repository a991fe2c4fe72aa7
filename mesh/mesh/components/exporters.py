"""The exporters that query PostgreSQL and Valkey for Prometheus: postgres_exporter and redis_exporter."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from mesh.components.postgres import POSTGRES, Database
from mesh.components.shop_processes import DATABASE_TASK, MONITOR_ROLE
from mesh.components.valkey import Cache
from mesh.description.places import Place, Places
from mesh.description.topology import metrics_port
from mesh.supervisor.processes import STORE_RANK, Component
from mesh.supervisor.readiness import accepts


@dataclass(frozen=True)
class Exporter:
    """An exporter.

    Attributes:
        component: Name of the exporter's component, scrape job and port.
        name: Name of the program upstream.
        prefix: First part of its metrics' names.
        option: Option for the address that the exporter listens on.
    """

    component: str
    name: str
    prefix: str
    option: str

    def find(self, environ: Mapping[str, str]) -> Path | None:
        """The program on PATH; None if it is not installed."""
        path = environ.get("PATH")
        program = shutil.which(self.debian_package, path=path) or shutil.which(self.name, path=path)
        return Path(program) if program else None

    @property
    def debian_package(self) -> str:
        """The package's name in Debian and Ubuntu, which is also the program's name there."""
        return f"prometheus-{self.name.replace('_', '-')}"

    @property
    def missing(self) -> str:
        """The message for users who do not have the exporter."""
        how = f"install {self.name} (Debian and Ubuntu: apt-get install {self.debian_package})"
        return f"no {self.prefix}* metrics: {how}"

    def listens_at(self, place: Place) -> list[str]:
        """The options for the address that the exporter listens on."""
        return [f"{self.option}={place}"]


OF_POSTGRES = Exporter("postgres-exporter", "postgres_exporter", "pg_", "--web.listen-address")
OF_VALKEY = Exporter("valkey-exporter", "redis_exporter", "redis_", "-web.listen-address")


def exporter_component(
    exporter: Exporter, program: Path, database: Database, cache: Cache | None, places: Places
) -> Component:
    """What to run for an exporter. The task that prepares the data creates the role that may read the statistics."""
    place = places.listens(metrics_port(exporter.component))
    if exporter is OF_POSTGRES:
        # A trial replaces the shop's database, but not the maintenance database that this URL names.
        maintenance = urlsplit(database.admin_url).path[1:] or POSTGRES
        env = {"DATA_SOURCE_NAME": with_sslmode(database.url(MONITOR_ROLE, maintenance))}
    else:
        assert cache is not None
        # The password is in the address and not in REDIS_PASSWORD, because redis_exporter would send REDIS_PASSWORD to
        # every target.
        env = {"REDIS_ADDR": urlsplit(cache.url)._replace(scheme="redis").geturl()}
    return Component(
        exporter.component,
        argv=lambda: [str(program), *exporter.listens_at(place)],
        env=env,
        ready=accepts(place.port, place.host),
        after=frozenset({DATABASE_TASK}),
        stop_rank=STORE_RANK,
    )


def with_sslmode(url: str) -> str:
    """Returns a server's URL with TLS turned off unless the URL sets `sslmode`; the client uses TLS by default."""
    parts = urlsplit(url)
    if "sslmode=" in parts.query:
        return url
    return parts._replace(query=f"{parts.query}&sslmode=disable".lstrip("&")).geturl()
