"""Finds out who calls, and admits callers as the contract's rows say, for every protocol.

A gateway checks every caller. A service trusts what comes from inside, where its callers have checked already, and
checks what the edge sends it. Where callers have no identity, the edge marks each request with `x-hopwise-edge`,
whatever the client sent. In a mesh with certificates, the caller's identity says whether it is the edge, and a call
without one is refused.

A customer who asks for what belongs to another one gets the answer of an id that does not exist: whether it exists
is not the customer's business either.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from shop.contract.calls import Access
from shop.errors import NotFound, PermissionDenied, Unauthenticated, no_such
from shop.platform.access.identity import CERTIFICATE_HEADER, caller_identity, trust_domain
from shop.platform.access.jwt import Principal, TokenVerifier, bearer
from shop.platform.config import EDGE_MARK, ConfigError, ServiceConfig, required


class Caller(NamedTuple):
    """Who makes a call, and what that allows; a tuple, which is made in a fraction of a frozen dataclass's time.

    Attributes:
        principal: Whom the token stands for; None where no token was asked for.
        internal: Whether the call comes from another part of the shop, which has checked its own caller already.
    """

    principal: Principal | None
    internal: bool = False

    @property
    def is_privileged(self) -> bool:
        """Whether the caller may act for any user: a partner, or another part of the shop."""
        return self.internal or (self.principal is not None and self.principal.kind == "partner")

    def may_act_for(self, user_id: int) -> bool:
        """Whether the caller may read and change what belongs to a user."""
        return self.is_privileged or (self.principal is not None and self.principal.id == user_id)

    def require_owner(self, user_id: int, field: str = "") -> None:
        """Checks that the caller may act for the user whom a request names; does not look whether there is one.

        Args:
            field: The argument that named it, if not the only one.

        Raises:
            PermissionDenied: It may not.
        """
        if not self.may_act_for(user_id):
            raise PermissionDenied("a customer may do this only for themselves", field=field)

    def require_visible(self, owner: int, missing: NotFound) -> None:
        """Checks that the caller may see a thing that was found by its own id.

        Args:
            owner: The user whom it belongs to; 0 if that account is gone.

        Raises:
            NotFound: It may not: `missing`.
        """
        if not self.may_act_for(owner):
            raise missing

    def require(self, access: Access) -> None:
        """Checks that the caller is one of those whom a call admits. Raises `PermissionDenied` if it is not."""
        if access is Access.INTERNAL and not self.internal:
            raise PermissionDenied("only the shop's own services may do this")
        if access is Access.PARTNER:
            self.require_partner()

    def require_partner(self) -> None:
        """Checks that the caller is a partner, or another part of the shop. Raises `PermissionDenied` if it is not."""
        if not self.is_privileged:
            raise PermissionDenied("this needs a partner's token")

    def customer_id(self) -> int:
        """Returns the user who calls. Raises `PermissionDenied` if it is not a customer."""
        if self.principal is None or self.principal.kind != "customer":
            raise PermissionDenied("this needs a customer's token")
        return self.principal.id


_ANONYMOUS = Caller(None)
_INTERNAL = Caller(None, internal=True)
_CALLER: ContextVar[Caller] = ContextVar("shop.caller", default=_ANONYMOUS)


def current_caller() -> Caller:
    """Returns who makes the current call."""
    return _CALLER.get()


def is_internal() -> bool:
    """Whether the current call comes from another part of the shop."""
    return _CALLER.get().internal


class Owned(Protocol):
    """A thing that belongs to a user; `user_id` is 0 if that account is gone."""

    @property
    def id(self) -> int:
        """The thing's own id."""

    @property
    def user_id(self) -> int:
        """The user whom it belongs to."""


Thing = TypeVar("Thing", bound=Owned)


def visible(kind: str, thing: Thing) -> Thing:
    """Returns a thing that was found by its own id, if the current call may see it.

    Raises:
        NotFound: It is another customer's; the error is the same as for an id that does not exist.
    """
    _CALLER.get().require_visible(thing.user_id, no_such(kind, thing.id))
    return thing


class Authenticator:
    """Finds out who calls, and admits callers to methods.

    Args:
        verifier: Checks tokens; None if no token is valid.
        edge: Identity of the edge, "spiffe://cluster.local/ns/default/sa/edge", whose calls come from outside; other
            callers' are of its trust domain. None where callers have no identity, and the edge marks its calls.
        trusts_inside: Whether calls that do not come from outside are admitted as they are.

    Attributes:
        origin_header: Header that tells where a call comes from, in lower case; the last of a repeated one counts.

    Raises:
        ConfigError: The edge's identity is none.
    """

    def __init__(self, verifier: TokenVerifier | None, edge: str | None = None, *, trusts_inside: bool = False) -> None:
        domain = None if edge is None else trust_domain(edge)
        if edge is not None and domain is None:
            raise ConfigError(
                f"SHOP_EDGE_IDENTITY is {edge!r}; valid: a SPIFFE ID, as spiffe://cluster.local/ns/default/sa/edge"
            )
        self.origin_header = EDGE_MARK if domain is None else CERTIFICATE_HEADER
        self._raw_origin_header = self.origin_header.encode()
        self._verifier = verifier
        self._edge = edge
        self._domain = domain
        self._trusts_inside = trusts_inside

    def origin_of(self, headers: Mapping[bytes, bytes]) -> str | None:
        """Returns the header that tells where a call comes from, out of an ASGI request's; None if it is not there."""
        origin = headers.get(self._raw_origin_header)
        return None if origin is None else origin.decode("latin-1")

    def is_outside(self, origin: str | None) -> bool:
        """Tells from the origin's header whether a call comes from outside.

        Raises:
            Unauthenticated: The header must say who calls, and does not.
        """
        if self._domain is None:
            return origin is not None
        identity = None if origin is None else caller_identity(origin)
        if identity is None or not identity.startswith(self._domain):
            raise Unauthenticated("the call comes without an identity; callers need a certificate of the mesh")
        return identity == self._edge

    def authenticate(self, authorization: str | None) -> Caller:
        """Returns the caller that a bearer token identifies.

        Raises:
            Unauthenticated: There is no token, or it is not valid.
        """
        token = bearer(authorization)
        if self._verifier is None:
            raise Unauthenticated("this service cannot verify tokens: SHOP_JWT_PUBLIC_KEY_FILE is not set")
        return Caller(self._verifier.verify(token))

    def admit(self, access: Access, authorization: str | None, origin: str | None) -> None:
        """Admits a call, or refuses it, and notes who makes it for as long as its task runs.

        Raises:
            Unauthenticated: There is no token, or it is not valid; or it is not known where the call comes from.
            PermissionDenied: The caller is not one of those whom the method admits.
        """
        if not self.is_outside(origin) and self._trusts_inside:
            _CALLER.set(_INTERNAL)
        else:
            self.admit_client(access, authorization)

    def admit_client(self, access: Access, authorization: str | None) -> None:
        """Admits a call as one from outside, wherever it comes from; otherwise as `admit`."""
        _CALLER.set(_ANONYMOUS)
        if access is Access.EVERYBODY:
            return
        # No token opens what is internal, so that none is looked at.
        caller = _ANONYMOUS if access is Access.INTERNAL else self.authenticate(authorization)
        caller.require(access)
        _CALLER.set(caller)


def gateway_authenticator(config: ServiceConfig) -> Authenticator:
    """Returns the authenticator of a gateway, which checks every caller.

    Raises:
        ConfigError: There is no key, the key cannot be used, or the identity is none.
    """
    path = required(config.jwt_public_key_file, "SHOP_JWT_PUBLIC_KEY_FILE", "keys/jwt-public.pem")
    return Authenticator(_verifier(path), config.edge_identity)


def service_authenticator(config: ServiceConfig) -> Authenticator:
    """Returns the authenticator of a service, which checks what the edge sends it.

    Args:
        config: Names the key that verifies tokens, without which no token is valid, and the edge's identity where
            callers have one.

    Raises:
        ConfigError: The key cannot be used, or the identity is none.
    """
    path = config.jwt_public_key_file
    return Authenticator(None if path is None else _verifier(path), config.edge_identity, trusts_inside=True)


def _verifier(path: str) -> TokenVerifier:
    try:
        return TokenVerifier(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"SHOP_JWT_PUBLIC_KEY_FILE is {path!r}, which cannot be used ({error}); it must be an Ed25519 public key "
            "in PEM form"
        ) from error
