"""Identifies callers, and admits them by the rules in the contract's rows, for every protocol.

A gateway checks every caller. A service trusts calls from inside, whose callers have already checked, and checks the
calls that come through the edge. Where callers have no identity, the edge marks each request with `x-hopwise-edge` and
overwrites what the client sent. In a mesh with certificates, the caller's identity says whether the caller is the edge,
and a call without an identity is refused.

A customer who asks for another customer's data gets the same answer as for an id that does not exist. So the answer
does not reveal whether the id exists.
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
from shop.platform.config import EDGE_MARK, ConfigError, ServiceConfig, require_setting


class Caller(NamedTuple):
    """Who makes a call, and what the caller may do; a tuple, which is much faster to create than a frozen dataclass.

    Attributes:
        principal: The principal of the token; None where no token was needed.
        internal: Whether the call comes from another component of the shop, which has already checked its own caller.
    """

    principal: Principal | None
    internal: bool = False

    @property
    def is_privileged(self) -> bool:
        """Whether the caller may act for any user, as a partner or another component of the shop may."""
        return self.internal or (self.principal is not None and self.principal.kind == "partner")

    def may_act_for(self, user_id: int) -> bool:
        """Returns whether the caller may read and change a user's data."""
        return self.is_privileged or (self.principal is not None and self.principal.id == user_id)

    def require_owner(self, user_id: int, field: str = "") -> None:
        """Raises `PermissionDenied` for the field unless the caller may act for a user, who need not exist."""
        if not self.may_act_for(user_id):
            raise PermissionDenied("a customer may do this only for themselves", field=field)

    def require_visible(self, owner: int, missing: NotFound) -> None:
        """Checks that the caller may see a thing of this owner, 0 if that account is gone; raises `missing` if not."""
        if not self.may_act_for(owner):
            raise missing

    def require(self, access: Access) -> None:
        """Checks that a call admits the caller. Raises `PermissionDenied` if it does not."""
        if access is Access.INTERNAL and not self.internal:
            raise PermissionDenied("only the shop's own services may do this")
        if access is Access.PARTNER:
            self.require_partner()

    def require_partner(self) -> None:
        """Checks that the caller is a partner or another component; raises `PermissionDenied` for any other caller."""
        if not self.is_privileged:
            raise PermissionDenied("this needs a partner's token")

    def customer_id(self) -> int:
        """Returns the id of the calling user. Raises `PermissionDenied` if the caller is not a customer."""
        if self.principal is None or self.principal.kind != "customer":
            raise PermissionDenied("this needs a customer's token")
        return self.principal.id


_ANONYMOUS = Caller(None)
_INTERNAL = Caller(None, internal=True)
_CALLER: ContextVar[Caller] = ContextVar("shop.caller", default=_ANONYMOUS)


def current_caller() -> Caller:
    return _CALLER.get()


def is_internal() -> bool:
    """Returns whether the current call comes from another component of the shop."""
    return _CALLER.get().internal


class OwnedThing(Protocol):
    """A thing that belongs to a user; `user_id` is 0 if that account is gone."""

    @property
    def id(self) -> int:
        """The thing's own id."""

    @property
    def user_id(self) -> int:
        """Id of the user who owns the thing."""


Thing = TypeVar("Thing", bound=OwnedThing)


def visible(kind: str, thing: Thing) -> Thing:
    """Returns a thing that was read by its own id; raises `NotFound`, as for an unknown id, if it is another's."""
    _CALLER.get().require_visible(thing.user_id, no_such(kind, thing.id))
    return thing


class Authenticator:
    """Identifies callers, and admits them to methods; raises `ConfigError` if the edge's identity is not valid.

    Args:
        verifier: Checks tokens; None if no token is valid.
        edge: Identity of the edge, "spiffe://cluster.local/ns/default/sa/edge", whose calls come from outside. Other
            callers belong to the edge's trust domain. None if callers have no identities, and the edge marks its calls.
        trusts_inside: Whether calls from inside are admitted without a check.

    Attributes:
        origin_header: Name of the header that says where a call comes from, in lower case; the last such header counts.
    """

    def __init__(self, verifier: TokenVerifier | None, edge: str | None = None, *, trusts_inside: bool = False) -> None:
        domain = None if edge is None else trust_domain(edge)
        if edge is not None and domain is None:
            raise ConfigError(
                f"SHOP_EDGE_IDENTITY is {edge!r}; valid: a SPIFFE ID, such as spiffe://cluster.local/ns/default/sa/edge"
            )
        self.origin_header = EDGE_MARK if domain is None else CERTIFICATE_HEADER
        self._raw_origin_header = self.origin_header.encode()
        self._verifier = verifier
        self._edge = edge
        self._domain = domain
        self._trusts_inside = trusts_inside

    def origin_of(self, headers: Mapping[bytes, bytes]) -> str | None:
        """Returns the header of an ASGI request that says where the call comes from; None if it is absent."""
        origin = headers.get(self._raw_origin_header)
        return None if origin is None else origin.decode("latin-1")

    def is_outside(self, origin: str | None) -> bool:
        """Returns whether a call comes from outside; raises `Unauthenticated` if it lacks a required identity."""
        if self._domain is None:
            return origin is not None
        identity = None if origin is None else caller_identity(origin)
        if identity is None or not identity.startswith(self._domain):
            raise Unauthenticated("the call comes without an identity; callers need a certificate of the mesh")
        return identity == self._edge

    def authenticate(self, authorization: str | None) -> Caller:
        """Returns the caller of a bearer token; raises `Unauthenticated` if there is no token, or it is not valid."""
        token = bearer(authorization)
        if self._verifier is None:
            raise Unauthenticated("this service cannot verify tokens: SHOP_JWT_PUBLIC_KEY_FILE is not set")
        return Caller(self._verifier.verify(token))

    def admit(self, access: Access, authorization: str | None, origin: str | None) -> None:
        """Admits or refuses a call, and records its caller for the task that runs it.

        Raises `Unauthenticated` if the token is missing or not valid, or the origin of the call is unknown. Raises
        `PermissionDenied` if the method does not admit the caller.
        """
        if not self.is_outside(origin) and self._trusts_inside:
            _CALLER.set(_INTERNAL)
        else:
            self.admit_client(access, authorization)

    def admit_client(self, access: Access, authorization: str | None) -> None:
        """Admits a call like `admit`, but always as a call from outside, regardless of its origin."""
        _CALLER.set(_ANONYMOUS)
        if access is Access.EVERYBODY:
            return
        # No token admits a caller to an internal call, so the token is not checked.
        caller = _ANONYMOUS if access is Access.INTERNAL else self.authenticate(authorization)
        caller.require(access)
        _CALLER.set(caller)


def gateway_authenticator(config: ServiceConfig) -> Authenticator:
    """Returns the authenticator of a gateway, which checks every caller; raises `ConfigError` if a setting is wrong."""
    path = require_setting(config.jwt_public_key_file, "SHOP_JWT_PUBLIC_KEY_FILE", "keys/jwt-public.pem")
    return Authenticator(_verifier(path), config.edge_identity)


def service_authenticator(config: ServiceConfig) -> Authenticator:
    """Returns the authenticator of a service, which checks the calls that come through the edge.

    Without a key, no token is valid. Raises `ConfigError` if the key or the edge's identity is not valid.
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
