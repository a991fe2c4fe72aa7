"""The key pair that signs and checks the shop's tokens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mesh.paths import write_private

PRIVATE_KEY, PUBLIC_KEY = "jwt-private.pem", "jwt-public.pem"


@dataclass(frozen=True)
class KeyPair:
    """Two PEM files with an Ed25519 key. The user service signs with it, as does the load generator for its tokens."""

    private: Path
    public: Path


def key_pair(folder: Path) -> KeyPair:
    """The key pair in a folder, made on first use, and kept so that tokens outlive a restart."""
    keys = KeyPair(private=folder / PRIVATE_KEY, public=folder / PUBLIC_KEY)
    if keys.private.is_file() and keys.public.is_file():
        return keys
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = Ed25519PrivateKey.generate()
    write_private(keys.private, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    write_private(keys.public, key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return keys
