"""Who calls, checked before anything else of a request is read."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import StrEnum
from typing import Protocol

import jwt

from rest_gateway.call import Call
from shop.errors import Unauthenticated
from shop.platform.auth import Principal, bearer, require_partner

CACHED_TOKENS = 4096


class Access(StrEnum):
    """Whom a route lets in."""

    EVERYBODY = "everybody"
    CALLER = "caller"
    """Everybody with a token; the route shows customers only what is theirs."""
    PARTNER = "partner"


class Verifier(Protocol):
    """Checks a token's signature, issuer and lifetime."""

    def verify(self, token: str) -> Principal:
        """Returns whom a token stands for; raises Unauthenticated."""
        ...


class Door:
    """Lets callers in by their bearer token, and remembers the tokens that it has checked until they expire.

    Checking an Ed25519 signature takes more time than all the rest that the gateway does for one order, and a
    partner sends the same token for an hour.

    Args:
        verifier: Checks tokens.
        clock: Returns the time in seconds since 1970.
    """

    def __init__(self, verifier: Verifier, clock: Callable[[], float] = time.time) -> None:
        self._verifier = verifier
        self._clock = clock
        self._known: dict[str, tuple[Principal, float]] = {}

    def admit(self, call: Call, access: Access) -> None:
        """Lets a call in, or not, and notes who makes it.

        Raises:
            Unauthenticated: There is no token, or it is not valid.
            PermissionDenied: The caller is not one of those whom the route lets in.
        """
        if access is Access.EVERYBODY:
            return
        call.principal = self._principal(bearer(call.header(b"authorization")))
        if access is Access.PARTNER:
            require_partner(call.principal)

    def _principal(self, token: str) -> Principal:
        known = self._known.get(token)
        if known is not None and self._clock() < known[1]:
            return known[0]
        principal = self._verifier.verify(token)
        if len(self._known) >= CACHED_TOKENS:
            self._known.pop(next(iter(self._known)))
        self._known[token] = (principal, _expiry(token))
        return principal


def _expiry(token: str) -> float:
    """Returns when a token that has been verified expires, in seconds since 1970."""
    try:
        return float(jwt.decode(token, options={"verify_signature": False})["exp"])
    except (jwt.InvalidTokenError, KeyError) as error:
        raise Unauthenticated("the token is not valid; log in again") from error
