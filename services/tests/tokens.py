"""Fixtures of the keys that sign and verify tokens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from shop.platform.access.jwt import TokenSigner, TokenVerifier


@dataclass(frozen=True)
class Keys:
    """A key pair that signs and verifies tokens."""

    private_pem: bytes
    public_pem: bytes
    private_file: Path
    public_file: Path


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    """A fresh key pair."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    folder = tmp_path_factory.mktemp("keys")
    (folder / "private.pem").write_bytes(private)
    (folder / "public.pem").write_bytes(public)
    return Keys(private, public, folder / "private.pem", folder / "public.pem")


@pytest.fixture(scope="session")
def signer(keys: Keys) -> TokenSigner:
    return TokenSigner(keys.private_pem)


@pytest.fixture(scope="session")
def verifier(keys: Keys) -> TokenVerifier:
    return TokenVerifier(keys.public_pem)
