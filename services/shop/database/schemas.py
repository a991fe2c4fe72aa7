"""The services' schemas and roles, and the folders that hold their migrations."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

SHOP = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Schema:
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


CODE = ("schemas.py", "migrate.py", "roles.py", "seed.py", "rows.py", "documents.py", "words.py")
"""The code that decides what a prepared database holds."""
SCHEMAS = tuple(Schema(service) for service in ("product", "user", "order", "payment", "notification"))
MONITOR = "shop_monitor"
"""The role that reads the server's own counts, and no row."""


def digest(*parts: str) -> str:
    """Names a prepared database: changes whenever a migration, the code of the seed or a part of `parts` does.

    Args:
        parts: Whatever else decides what the database holds: the seed and the scale.

    Returns:
        Twelve hexadecimal digits.
    """
    sources = [path for schema in SCHEMAS for path in sorted(schema.migrations.glob("*.sql"))]
    sources += [Path(__file__).with_name(name) for name in CODE]
    total = hashlib.sha256("\0".join(parts).encode())
    for source in sources:
        content = source.read_bytes()
        total.update(f"{source.relative_to(SHOP)}\0{len(content)}\0".encode() + content)
    return total.hexdigest()[:12]
