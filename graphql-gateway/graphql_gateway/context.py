"""What the resolvers of one request share: the services, the loaders, and who is asking."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import strawberry

from shop.clients import Clients
from shop.errors import PermissionDenied, Unauthenticated
from shop.platform.auth import Principal, TokenVerifier, bearer
from shop.platform.graphql.schema import RequestContext

if TYPE_CHECKING:
    from graphql_gateway.loaders import Reads


class Context(RequestContext):
    """One request.

    Args:
        clients: The services.
        reads: What this request reads by identifier.
        verifier: Checks tokens.
        authorization: The Authorization header, empty if there is none; it is not looked at before a resolver needs
            to know who is asking, so that open reads pay nothing for it.
    """

    __slots__ = ("_authorization", "_principal", "_verifier", "clients", "reads")

    def __init__(self, clients: Clients, reads: Reads, verifier: TokenVerifier, authorization: str) -> None:
        self.clients = clients
        self.reads = reads
        self._verifier = verifier
        self._authorization = authorization
        self._principal: Principal | None = None

    @property
    def principal(self) -> Principal:
        """Who is asking.

        Raises:
            Unauthenticated: There is no token, or it is not valid.
        """
        if self._principal is None:
            if not self._authorization:
                raise Unauthenticated('a token is needed; send it as "Authorization: Bearer <token of login>"')
            self._principal = self._verifier.verify(bearer(self._authorization))
        return self._principal

    def customer(self) -> int:
        """Returns the id of the user who is asking.

        Raises:
            Unauthenticated: There is no valid token.
            PermissionDenied: It is not a customer's.
        """
        principal = self.principal
        if principal.kind != "customer":
            raise PermissionDenied("a customer's own token is needed; this one is a partner's")
        return principal.id

    def require_partner(self) -> None:
        """Passes partners.

        Raises:
            Unauthenticated: There is no valid token.
            PermissionDenied: It is not a partner's.
        """
        if self.principal.kind != "partner":
            raise PermissionDenied("a partner's token is needed; this one is a customer's")

    def require_owner(self, user_id: int) -> None:
        """Passes one user and every partner.

        Args:
            user_id: Whose data it is.

        Raises:
            Unauthenticated: There is no valid token.
            PermissionDenied: It is of another customer.
        """
        principal = self.principal
        if principal.kind != "partner" and principal.id != user_id:
            raise PermissionDenied("this belongs to another customer; its own token or a partner's is needed")

    @property
    def is_partner(self) -> bool:
        """Whether a partner is asking.

        Raises:
            Unauthenticated: There is no valid token.
        """
        return self.principal.kind == "partner"


GatewayInfo: TypeAlias = strawberry.Info[Context, None]
