"""Signed tokens, which identify callers. `shop.platform.access.rules` decides what each caller may do."""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, cast

import jwt
from cachetools import LRUCache
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key
from jwt.types import Options

from shop.errors import Unauthenticated

ALGORITHM = "EdDSA"
ISSUER = "hopwise"
LIFETIME_S = 3600
EXPIRED = "the token has expired; log in again"
MAX_KNOWN_TOKENS = 4_096
# `iat` may be later than now: the clock of the process that signs may be ahead of ours.
_CHECKS: Options = {"require": ["sub", "role", "iat", "exp", "iss"], "verify_iat": False}
_SUBJECT = re.compile(r"(users|partners)/([1-9][0-9]{0,17})")
_COLLECTIONS = {"customer": "users", "partner": "partners"}


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller that a token identifies: a customer, or a partner of the shop.

    Tokens of the same caller differ only in when they expire, in seconds since 1970.
    """

    kind: Literal["customer", "partner"]
    id: int
    expires: float = field(default=math.inf, compare=False)

    @property
    def subject(self) -> str:
        """The token's subject: "users/17" or "partners/1"."""
        return f"{_COLLECTIONS[self.kind]}/{self.id}"


class TokenSigner:
    """Signs tokens. Raises `ValueError` if the key is not an Ed25519 key, or not a key at all."""

    def __init__(self, private_pem: bytes, *, clock: Callable[[], float] = time.time) -> None:
        key = load_pem_private_key(private_pem, password=None)
        if not isinstance(key, Ed25519PrivateKey):
            raise ValueError("the private key that signs tokens must be an Ed25519 key in PEM form")
        self._key = key
        self._clock = clock

    def sign(self, principal: Principal, ttl_s: int = LIFETIME_S) -> str:
        """Returns a token for a principal; the token is valid for `ttl_s` seconds from now."""
        now = int(self._clock())
        claims = {"iss": ISSUER, "sub": principal.subject, "role": principal.kind, "iat": now, "exp": now + ttl_s}
        return jwt.encode(claims, self._key, algorithm=ALGORITHM)


class TokenVerifier:
    """Verifies tokens, and remembers `capacity` verified ones until they expire.

    Checking an Ed25519 signature takes longer than the rest of most requests, and a caller sends the same token for up
    to an hour. The verifier keeps digests of tokens, and not the tokens themselves. It raises `ValueError` if the key
    is not an Ed25519 key, or not a key at all.
    """

    def __init__(
        self, public_pem: bytes, *, clock: Callable[[], float] = time.time, capacity: int = MAX_KNOWN_TOKENS
    ) -> None:
        key = load_pem_public_key(public_pem)
        if not isinstance(key, Ed25519PublicKey):
            raise ValueError("the public key that verifies tokens must be an Ed25519 key in PEM form")
        self._key = key
        self._clock = clock
        self._known: LRUCache[bytes, Principal] = LRUCache(capacity)

    def verify(self, token: str) -> Principal:
        """Returns the principal of a token; raises `Unauthenticated` if we did not sign the token or it has expired."""
        digest = hashlib.sha256(token.encode(errors="surrogatepass")).digest()
        known = self._known.get(digest)
        if known is None or known.expires <= self._clock():
            known = self._known[digest] = self._read(token)
        return known

    def _read(self, token: str) -> Principal:
        try:
            claims = jwt.decode(token, self._key, algorithms=[ALGORITHM], issuer=ISSUER, options=_CHECKS)
            expires = float(claims["exp"])
        except jwt.ExpiredSignatureError as error:
            raise Unauthenticated(EXPIRED) from error
        except (jwt.InvalidTokenError, UnicodeError, OverflowError) as error:
            raise Unauthenticated("the token is not valid; log in again") from error
        subject = _SUBJECT.fullmatch(str(claims["sub"]))
        role = claims["role"]
        if subject is None or not isinstance(role, str) or _COLLECTIONS.get(role) != subject[1]:
            raise Unauthenticated("the token is not valid; log in again")
        return Principal(cast(Literal["customer", "partner"], role), int(subject[2]), expires)


def bearer(header_value: str | None) -> str:
    """Returns the token of an Authorization header; raises `Unauthenticated` if there is none."""
    scheme, _, token = (header_value or "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated("this needs a token: send the header Authorization: Bearer <token>")
    return token.strip()
