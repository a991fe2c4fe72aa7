"""What the resolvers of one request share: the services, the loaders, and who is asking."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, TypeVar

from graphql import OperationDefinitionNode

from graphql_gateway.cost import TARIFF
from shop.contract.calls import Access, call_of
from shop.contract.ports import Clients
from shop.errors import NotFound, Unauthenticated
from shop.platform.access.rules import Authenticator, Caller
from shop.platform.access.streams import Streams
from shop.platform.admission import Admission
from shop.platform.deadline import DEFAULT_S, begin, work_s
from shop.platform.graphql.schema import RequestContext
from shop.platform.http.caching import surrogate_keys

R = TypeVar("R")
T = TypeVar("T")


class Context(RequestContext, Generic[R]):
    """One request.

    Args:
        authorization: The Authorization header, empty if there is none; it is not looked at before a resolver needs
            to know who is asking, so that open reads pay nothing for it.
        admission: Bounds the passwords that are hashed; None for no bound.
        address: The client's address, as the edge gives it; None for a request from inside.

    Attributes:
        shown: Products that the public fields of the answer show.
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
        "shown",
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
        self.shown: set[int] = set()
        self._authenticator = authenticator
        self._authorization = authorization
        self._caller: Caller | None = None

    @property
    def caller(self) -> Caller:
        """Who is asking, and what that allows. Raises `Unauthenticated` if there is no token, or it is not valid."""
        if self._caller is None:
            self._caller = self._authenticator.authenticate(self._authorization)
        return self._caller

    @property
    def keys(self) -> tuple[str, ...]:
        return surrogate_keys(self.shown, listed=True) if self.shown else ()

    def admit(self, method: Callable[..., Any], user_id: int | None = None, field: str = "") -> None:
        """Admits the caller to a call as its row says; calls for everybody need no token.

        Args:
            user_id: The user whom the call concerns, if its request names one.
            field: The argument that named the user.

        Raises:
            Unauthenticated: There is no valid token.
            PermissionDenied: The row admits other callers, or the caller is another user.
        """
        row = call_of(method)
        if row.access is Access.EVERYBODY:
            return
        self.caller.require(row.access)
        if user_id is not None and row.owner:
            self.caller.require_owner(user_id, field)

    def show(self, method: Callable[..., Any], owner: int, missing: NotFound) -> None:
        """Checks that the caller may see what a call found, as the call's row says.

        Args:
            owner: The user whom it belongs to; 0 if that account is gone.

        Raises:
            Unauthenticated: There is no valid token.
            NotFound: The caller may not: `missing`.
        """
        if call_of(method).owner:
            self.caller.require_visible(owner, missing)

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
        TARIFF.require_affordable(cost, operation, self._is_partner)

    def _is_partner(self) -> bool:
        try:
            return self.caller.is_privileged
        except Unauthenticated:
            return False
