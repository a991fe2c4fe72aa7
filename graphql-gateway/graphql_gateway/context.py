"""What the resolvers of one request share: the services, the loaders, and who is asking."""

from __future__ import annotations

from typing import Generic, TypeVar

from graphql_gateway.cost import MOST_COST, MOST_COST_OF_PARTNERS
from shop.clients.ports import Clients
from shop.errors import ResourceExhausted, Unauthenticated
from shop.platform.access.rules import Authenticator, Caller
from shop.platform.graphql.schema import RequestContext

R = TypeVar("R")


class Context(RequestContext, Generic[R]):
    """One request.

    Args:
        clients: The services.
        reads: What this request reads by identifier.
        authenticator: Finds out who is asking.
        authorization: The Authorization header, empty if there is none; it is not looked at before a resolver needs
            to know who is asking, so that open reads pay nothing for it.
    """

    __slots__ = ("_authenticator", "_authorization", "_caller", "clients", "reads")

    def __init__(self, clients: Clients, reads: R, authenticator: Authenticator, authorization: str) -> None:
        self.clients = clients
        self.reads = reads
        self._authenticator = authenticator
        self._authorization = authorization
        self._caller: Caller | None = None

    @property
    def caller(self) -> Caller:
        """Who is asking, and what that allows.

        Raises:
            Unauthenticated: There is no token, or it is not valid.
        """
        if self._caller is None:
            self._caller = self._authenticator.authenticate(self._authorization)
        return self._caller

    def check_cost(self, cost: int) -> None:
        limit = MOST_COST_OF_PARTNERS if cost > MOST_COST and self._is_partner() else MOST_COST
        if cost > limit:
            raise ResourceExhausted(
                f"the operation has a cost of {cost}; the limit is {limit}; ask for fewer items (`first`) or fields"
            )

    def _is_partner(self) -> bool:
        try:
            return self.caller.is_privileged
        except Unauthenticated:
            return False
