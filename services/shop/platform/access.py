"""Whom each method lets in, the same over every protocol.

A gateway checks every caller. A service trusts what comes from inside, where its callers have checked already, and
checks what the edge sends it: the edge marks each request with `x-hopwise-edge`, whatever the client sent.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol, TypeVar

import jwt

from shop.errors import PermissionDenied, Unauthenticated
from shop.platform.auth import Principal, TokenVerifier, bearer, require_partner, require_user
from shop.platform.config import ConfigError, ServiceConfig

F = TypeVar("F", bound=Callable[..., object])

EDGE_HEADER = "x-hopwise-edge"
CACHED_TOKENS = 4096


class Access(StrEnum):
    """Whom a method lets in."""

    EVERYBODY = "everybody"
    CALLER = "caller"
    """Everybody with a token; customers see only what is theirs."""
    PARTNER = "partner"
    INTERNAL = "internal"
    """Other services and gateways, and nobody from outside."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """Who was let in.

    Attributes:
        principal: Whom the token stands for; None where no token was asked for.
        inside: Whether the call comes from inside, from a caller that has checked already.
    """

    principal: Principal | None
    inside: bool


_ANYBODY = Admitted(None, inside=False)
_INSIDE = Admitted(None, inside=True)
_ADMITTED: ContextVar[Admitted] = ContextVar("shop.admitted", default=_ANYBODY)


def sees_all() -> bool:
    """Whether the call in hand may see what belongs to any user: it is a partner's, or comes from inside."""
    admitted = _ADMITTED.get()
    return admitted.inside or (admitted.principal is not None and admitted.principal.kind == "partner")


def from_inside() -> bool:
    """Whether the call in hand comes from another part of the shop."""
    return _ADMITTED.get().inside


def may_see(user_id: int) -> bool:
    """Whether the call in hand may see what belongs to a user: the user itself, a partner, or inside."""
    principal = _ADMITTED.get().principal
    return sees_all() or (principal is not None and principal.id == user_id)


def require_owner(user_id: int) -> None:
    """Checks that the call in hand may act for a user.

    Raises:
        Unauthenticated: Nobody has been asked for a token.
        PermissionDenied: The token is another customer's.
    """
    admitted = _ADMITTED.get()
    if admitted.inside:
        return
    if admitted.principal is None:
        raise Unauthenticated("this needs a token: send the header Authorization: Bearer <token>")
    require_user(admitted.principal, user_id)


class Verifier(Protocol):
    """Checks a token's signature, issuer and lifetime."""

    def verify(self, token: str) -> Principal:
        """Returns whom a token stands for; raises Unauthenticated."""
        ...


class NoVerifier:
    """Takes no token: this process has no key."""

    def verify(self, token: str) -> Principal:  # noqa: ARG002 - it does not look at it
        """Refuses every token."""
        raise Unauthenticated("this process takes no tokens: SHOP_JWT_PUBLIC_KEY_FILE is not set")


class Door:
    """Lets callers in by their bearer token, and remembers the tokens that it has checked until they expire.

    Checking an Ed25519 signature takes more time than all the rest that a gateway does for one order, and a partner
    sends the same token for an hour.

    Args:
        verifier: Checks tokens.
        trusts_inside: Whether calls that the edge has not marked are let in as they are.
        clock: Returns the time in seconds since 1970.
    """

    def __init__(
        self, verifier: Verifier, *, trusts_inside: bool = False, clock: Callable[[], float] = time.time
    ) -> None:
        self._verifier = verifier
        self._trusts_inside = trusts_inside
        self._clock = clock
        self._known: dict[str, tuple[Principal, float]] = {}

    def admit(self, access: Access, authorization: str | None, *, edge: bool) -> None:
        """Lets a call in, or not, and notes who makes it for as long as its task runs.

        Args:
            access: Whom the method lets in.
            authorization: The Authorization header.
            edge: Whether the edge has marked the call.

        Raises:
            Unauthenticated: There is no token, or it is not valid.
            PermissionDenied: The caller is not one of those whom the method lets in.
        """
        if self._trusts_inside and not edge:
            _ADMITTED.set(_INSIDE)
            return
        _ADMITTED.set(_ANYBODY)
        if access is Access.EVERYBODY:
            return
        if access is Access.INTERNAL:
            raise PermissionDenied("only the shop's own services may do this")
        principal = self._principal(bearer(authorization))
        if access is Access.PARTNER:
            require_partner(principal)
        _ADMITTED.set(Admitted(principal, inside=False))

    def _principal(self, token: str) -> Principal:
        known = self._known.get(token)
        if known is not None and self._clock() < known[1]:
            return known[0]
        principal = self._verifier.verify(token)
        if len(self._known) >= CACHED_TOKENS:
            self._known.pop(next(iter(self._known)))
        self._known[token] = (principal, _expiry(token))
        return principal


def gateway_door(key_file: str) -> Door:
    """Returns the door of a gateway, which checks every caller.

    Args:
        key_file: PEM file of the key that verifies tokens.

    Raises:
        ConfigError: The key cannot be used.
    """
    return Door(_verifier(key_file))


def service_door(config: ServiceConfig) -> Door:
    """Returns the door of a service, which checks what the edge sends it.

    Args:
        config: Names the key that verifies tokens; without one, no token is valid.

    Raises:
        ConfigError: The key cannot be used.
    """
    path = config.jwt_public_key_file
    return Door(NoVerifier() if path is None else _verifier(path), trusts_inside=True)


def lets_in(access: Access) -> Callable[[F], F]:
    """Says whom a method of a gRPC servicer lets in; one without this is internal.

    Args:
        access: Whom.
    """

    def mark(method: F) -> F:
        method.__dict__[_MARK] = access
        return method

    return mark


def access_of(method: object) -> Access:
    """Returns whom a method lets in, as `lets_in` says."""
    return Access(getattr(method, _MARK, Access.INTERNAL))


_MARK = "__shop_access__"


def _verifier(path: str) -> TokenVerifier:
    try:
        return TokenVerifier(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"SHOP_JWT_PUBLIC_KEY_FILE is {path!r}, which cannot be used ({error}); it must be an Ed25519 public key "
            "in PEM form"
        ) from error


def _expiry(token: str) -> float:
    """Returns when a token that has been verified expires, in seconds since 1970."""
    try:
        return float(jwt.decode(token, options={"verify_signature": False})["exp"])
    except (jwt.InvalidTokenError, KeyError) as error:
        raise Unauthenticated("the token is not valid; log in again") from error
