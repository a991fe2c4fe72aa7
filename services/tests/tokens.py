"""Fixtures of the keys that sign and verify tokens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from mesh.components.keys import key_pair
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
    made = key_pair(tmp_path_factory.mktemp("keys"))
    return Keys(made.private.read_bytes(), made.public.read_bytes(), made.private, made.public)


@pytest.fixture(scope="session")
def signer(keys: Keys) -> TokenSigner:
    return TokenSigner(keys.private_pem)


@pytest.fixture(scope="session")
def verifier(keys: Keys) -> TokenVerifier:
    return TokenVerifier(keys.public_pem)
