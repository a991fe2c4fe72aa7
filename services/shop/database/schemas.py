"""The services' schemas and roles, and the folders of their migrations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SHOP = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class ServiceSchema:
    """One service's part of the database."""

    service: str

    @property
    def name(self) -> str:
        """The name of the schema and of the role that may read and write its rows."""
        return f"shop_{self.service}"

    @property
    def migrations(self) -> Path:
        """The folder of the service's migrations, plain SQL in the order of their names."""
        return SHOP / self.service / "migrations"

    @property
    def migration_names(self) -> set[str]:
        """The names of the service's migrations, such as `0002.outbox`."""
        return {file.stem for file in self.migrations.glob("*.sql") if not file.stem.endswith(".rollback")}


SCHEMAS = tuple(ServiceSchema(service) for service in ("product", "user", "order", "payment", "notification"))
MONITOR = "shop_monitor"
"""The role that reads the server's own counts, and no row."""
