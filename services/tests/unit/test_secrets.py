"""The secrets of an installation: who has which secret, and that existing secrets stay."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from shop.database.schemas import MONITOR, SCHEMAS
from shop.secrets import make_secrets


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_secrets(tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_everyone_has_its_own_and_only_that(folder: Path) -> None:
    services = {"postgres-exporter", *(schema.service for schema in SCHEMAS)}
    assert set(contents(folder)) == {
        *(f"admin/{name}" for name in ("password", "pgpass", "role-passwords")),
        *(f"{service}/pgpass" for service in services),
        "public/jwt-public.pem",
        "user/jwt-private.pem",
    }
    files = contents(folder)
    passwords = json.loads(files["admin/role-passwords"])
    assert len({files["admin/password"], *passwords.values()}) == len(SCHEMAS) + 2
    assert files["admin/pgpass"] == f"*:*:*:postgres:{files['admin/password']}\n"
    for role, owner in {**{schema.name: schema.service for schema in SCHEMAS}, MONITOR: "postgres-exporter"}.items():
        assert files[f"{owner}/pgpass"] == f"*:*:*:{role}:{passwords[role]}\n"


def test_the_public_key_checks_what_the_private_one_signs(folder: Path) -> None:
    private = load_pem_private_key((folder / "user" / "jwt-private.pem").read_bytes(), None)
    public = load_pem_public_key((folder / "public" / "jwt-public.pem").read_bytes())
    public.verify(private.sign(b"token"), b"token")


def test_nobody_else_may_read_them(folder: Path) -> None:
    # PostgreSQL's clients ignore a pgpass that others may read.
    assert {path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()} == {0o400}


def test_secrets_stay_and_missing_ones_are_added(folder: Path) -> None:
    before = contents(folder)
    (folder / "order" / "pgpass").unlink()
    (folder / "public" / "jwt-public.pem").unlink()
    (folder / "user" / "pgpass.new").write_text("half of i")
    make_secrets(folder)
    assert contents(folder) == before


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    command = [sys.executable, "-m", "shop.secrets", str(tmp_path / "file")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, str(tmp_path / "file") in done.stderr) == (2, True)
    done = subprocess.run(command[:-1], capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, done.stderr) == (2, "usage: python -m shop.secrets FOLDER\n")
