"""What the resolvers of one request share: the services, the loaders, and who is asking."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Generic, TypeVar

from graphql import OperationDefinitionNode

from graphql_gateway.cost import MAX_COST, max_cost
from shop.clients.ports import Clients
from shop.errors import ResourceExhausted, Unauthenticated
from shop.platform.access.rules import Authenticator, Caller
from shop.platform.access.streams import Streams
from shop.platform.admission import Admission
from shop.platform.deadline import DEFAULT_S, begin, work_s
from shop.platform.graphql.schema import RequestContext

R = TypeVar("R")
T = TypeVar("T")


class Context(RequestContext, Generic[R]):
    """One request.

    Args:
        clients: The services.
        reads: Makes what this request reads by identifier.
        authenticator: Finds out who is asking.
        authorization: The Authorization header, empty if there is none; it is not looked at before a resolver needs
            to know who is asking, so that open reads pay nothing for it.
        streams: Limits and ends what the request follows.
        admission: Bounds the passwords that are hashed; None for no bound.
        address: The client's address, as the edge gives it; None for a request from inside.
    """

    __slots__ = (
        "_admission",
        "_authenticator",
        "_authorization",
        "_caller",
        "_reads",
        "_streams",
        "address",
        "clients",
        "reads",
    )

    def __init__(
        self,
        clients: Clients,
        reads: Callable[[Clients], R],
        authenticator: Authenticator,
        authorization: str,
        streams: Streams,
        admission: Admission | None,
        address: str | None,
    ) -> None:
        self.clients = clients
        self.reads = reads(clients)
        self._reads = reads
        self._streams = streams
        self._admission = admission
        self.address = address
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

    def hashing(self) -> AbstractContextManager[None]:
        """Bounds the requests that have a password hashed, where the edge cannot tell them from others by their path.

        Raises:
            TooManyRequests: This process does enough of it already.
        """
        return nullcontext() if self._admission is None else self._admission.hashes.hold()

    def lasting(self, stream: AsyncGenerator[T]) -> AsyncGenerator[T]:
        """Returns a stream that ends with the caller's token and with the process."""
        return self._streams.hold(stream, self.caller)

    def renew(self) -> None:
        """Begins the next event of a subscription: it reads anew, and has limits and a deadline like a request."""
        self.reads = self._reads(self.clients)
        self.execution.renew()
        begin(work_s(DEFAULT_S))

    def check_cost(self, cost: int, operation: OperationDefinitionNode) -> None:
        limit = max_cost(operation, is_partner=cost > MAX_COST and self._is_partner())
        if cost > limit:
            raise ResourceExhausted(
                f"the operation has a cost of {cost}; the limit is {limit}; ask for fewer items (`first`) or fields"
            )

    def _is_partner(self) -> bool:
        try:
            return self.caller.is_privileged
        except Unauthenticated:
            return False
