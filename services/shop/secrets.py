"""Creates the secrets of an installation, each in the folder of the programs that may read it; keeps existing secrets.

python -m shop.secrets FOLDER

admin    `password` of the database's administrator, also in `pgpass`; `role-passwords` in the form of
         SHOP_ROLE_PASSWORDS
public   `jwt-public.pem` verifies the shop's tokens
user     `jwt-private.pem` signs them

The folder of each service has the service's database password in a `pgpass` file, which PGPASSFILE names. The folder
`postgres-exporter` also has a `pgpass` file, for the role that reads the database server's statistics.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Callable
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from shop.database.schemas import MONITOR, SCHEMAS

ADMIN = "postgres"
OWNERS = {**{schema.name: schema.service for schema in SCHEMAS}, MONITOR: "postgres-exporter"}
"""The program that uses each role, by role."""


def make_secrets(folder: Path) -> None:
    """Creates missing secrets, and rewrites files derived from others; raises `OSError` if a file is inaccessible."""
    admin = folder / "admin"
    _write(admin / "pgpass", _pgpass(ADMIN, _keep(admin / "password", _password)))
    kept = json.loads(_keep(admin / "role-passwords", lambda: "{}"))
    passwords = {role: kept.get(role) or _password() for role in OWNERS}
    _write(admin / "role-passwords", json.dumps(passwords))
    for role, owner in OWNERS.items():
        _write(folder / owner / "pgpass", _pgpass(role, passwords[role]))
    private = load_pem_private_key(_keep(folder / "user" / "jwt-private.pem", _private_key).encode(), None)
    public = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    _write(folder / "public" / "jwt-public.pem", public.decode())


def _password() -> str:
    return secrets.token_hex(32)


def _private_key() -> str:
    return Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def _pgpass(role: str, password: str) -> str:
    # hostname:port:database:username:password
    return f"*:*:*:{role}:{password}\n"


def _keep(path: Path, make: Callable[[], str]) -> str:
    if not path.is_file():
        _write(path, make())
    return path.read_text()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400), "w") as file:
        file.write(text)
    # No reader ever sees half a file, and a start that was interrupted can simply be repeated.
    new.rename(path)


def main() -> int:
    """Creates the secrets in the folder that the command line names; returns the exit code."""
    if len(sys.argv) != 2:
        print("usage: python -m shop.secrets FOLDER", file=sys.stderr)
        return 2
    try:
        make_secrets(Path(sys.argv[1]))
    except OSError as error:
        print(f"secrets: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
