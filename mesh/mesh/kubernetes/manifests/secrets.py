"""The secrets that manifests refer to, and their required content."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mesh.components.keys import PRIVATE_KEY, PUBLIC_KEY, KeyPair
from mesh.components.postgres import Database
from mesh.components.shop_processes import TRIAL_DATABASE, role_name, role_passwords
from mesh.description.topology import SERVICES
from mesh.kubernetes.manifests.deployment import Document, document
from mesh.kubernetes.options import ClusterOptions

KEYS, DATABASE = "keys", "database"
KEYS_FOLDER = Path("/etc/hopwise/keys")
KEYS_MOUNT: Document = {"name": KEYS, "mountPath": str(KEYS_FOLDER), "readOnly": True}
"""Mount of the tokens' keys in a container, with a `secret_volume` in its pod."""
DATABASE_FOLDER = Path("/etc/hopwise/database")
DATABASE_MOUNT: Document = {"name": DATABASE, "mountPath": str(DATABASE_FOLDER), "readOnly": True}
"""Mount of the container's part of the secret `database`, with a `secret_volume` in its pod."""
ADMIN_URL, ADMIN_PASSWORD, ROLE_PASSWORDS = "admin-url", "admin-password", "role-passwords"


def url_of(service: str) -> str:
    """The key of a service's database URL."""
    return f"{service}-url"


DATABASE_KEYS = (ADMIN_URL, ADMIN_PASSWORD, ROLE_PASSWORDS, *map(url_of, SERVICES))


def in_file(variable: str, key: str) -> Document:
    """The environment variable that names the file, in `DATABASE_MOUNT`, with a setting's value."""
    return {"name": f"{variable}_FILE", "value": str(DATABASE_FOLDER / key)}


def secret_volume(secret: str, *keys: str) -> Document:
    """The volume of a part of a secret, which only its pod's user may read."""
    items = [{"key": key, "path": key} for key in keys]
    return {"name": secret, "secret": {"secretName": secret, "defaultMode": 0o440, "items": items}}


def secrets(keys: KeyPair, database: Database, options: ClusterOptions) -> list[Document]:
    """The secrets of a system, whose pods reach the database at its address."""
    pair = {PRIVATE_KEY: keys.private.read_text(), PUBLIC_KEY: keys.public.read_text()}
    return [_secret(KEYS, pair, options), _secret(DATABASE, database_values(database), options)]


def database_values(database: Database) -> dict[str, str]:
    """The values of the secret `database`."""
    return {
        ADMIN_URL: database.admin_url,
        ADMIN_PASSWORD: unquote(urlsplit(database.admin_url).password or ""),
        ROLE_PASSWORDS: json.dumps(role_passwords(database)),
        **{url_of(service): database.url(role_name(service), TRIAL_DATABASE) for service in SERVICES},
    }


def _secret(name: str, values: Mapping[str, str], options: ClusterOptions) -> Document:
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    return document("Secret", "v1", name, options, type="Opaque", data=encoded)
