"""Manifests as files, for `kubectl apply --kustomize`."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from mesh.components.keys import KeyPair, key_pair
from mesh.components.postgres import external_database, own_database
from mesh.kubernetes.manifests.bundle import BENCH, SECRETS
from mesh.kubernetes.manifests.deployment import Document
from mesh.kubernetes.manifests.secrets import ADMIN_PASSWORD, database_values
from mesh.kubernetes.options import ClusterOptions
from mesh.paths import write_private

HEADER = "# Made by `make manifests`: change the topology, the switches or your own overlay, not this file.\n"


class _Plain(yaml.CSafeDumper):
    """Writes repeated values in full: people and Kustomize do not read aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


# Strings that kubectl reads as numbers, but PyYAML does not: they need quotes.
_Plain.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$|0o[0-7]+$"),
    list("-+.0123456789"),
)


def as_yaml(documents: Sequence[Document]) -> str:
    """Documents as YAML; the same documents give the same bytes."""
    return yaml.dump_all(documents, Dumper=_Plain, sort_keys=False, width=120)


def write(files: Mapping[str, Sequence[Document]], out: Path) -> None:
    """Writes manifests over the manifests of an earlier call, and removes manifests that are no longer made."""
    for folder in {Path(path).parent for path in files}:
        for old in (out / folder).glob("*.yaml"):
            if old.read_text(errors="replace").startswith(HEADER):  # not a file of the user's
                old.unlink()
        (out / folder).mkdir(parents=True, exist_ok=True)
    for path, documents in files.items():
        (out / path).write_text(HEADER + as_yaml(documents))


def make_secrets(out: Path, options: ClusterOptions) -> KeyPair:
    """Makes the values of the bench's secrets unless an earlier call has made them; returns the key pair.

    Raises:
        InputError: DATABASE_URL is not the URL of a PostgreSQL server, or has no password.
    """
    folder = out / BENCH / SECRETS
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    keys = key_pair(folder)
    if options.database_url:
        database = external_database(options.database_url)
    else:
        kept = folder / ADMIN_PASSWORD
        password = kept.read_text() if kept.is_file() else secrets.token_hex(32)
        database = own_database(password, options.places)
    for key, value in database_values(database).items():
        write_private(folder / key, value.encode())
    return keys
