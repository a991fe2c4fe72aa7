"""The context that the resolvers of one request share: the services, the loaders, and the caller."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, TypeVar

from shop.contract.calls import Access, call_of
from shop.contract.ports import Clients
from shop.errors import NotFound
from shop.platform.access.rules import Authenticator
from shop.platform.access.streams import Streams
from shop.platform.admission import Admission
from shop.platform.deadline import DEFAULT_S, begin, work_s
from shop.platform.graphql.schema import ClientContext
from shop.platform.http.caching import surrogate_keys

R = TypeVar("R")
T = TypeVar("T")


class Context(ClientContext, Generic[R]):
    """One request.

    Args:
        admission: Limits the number of passwords that are hashed at a time; None for no limit.

    Attributes:
        shown: Ids of the products in the public fields of the answer.
    """

    __slots__ = ("_admission", "_reads", "_streams", "clients", "reads", "shown")

    def __init__(
        self,
        clients: Clients,
        reads: Callable[[Clients], R],
        authenticator: Authenticator,
        headers: Mapping[bytes, bytes],
        streams: Streams,
        admission: Admission | None,
    ) -> None:
        super().__init__(authenticator, headers)
        self.clients = clients
        self.reads = reads(clients)
        self.shown: set[int] = set()
        self._reads = reads
        self._streams = streams
        self._admission = admission

    @property
    def keys(self) -> tuple[str, ...]:
        return surrogate_keys(self.shown, listed=True)

    def admit(self, method: Callable[..., Any], user_id: int | None = None, field: str = "") -> None:
        """Admits the caller to a call, by the access rule in the call's row; calls open to everybody need no token.

        The argument `field` names the user concerned, if any. Raises `Unauthenticated` without a valid token, and
        `PermissionDenied` if the rule does not admit the caller, or the caller may not act for the user.
        """
        row = call_of(method)
        if row.access is Access.EVERYBODY:
            return
        self.caller.require(row.access)
        if user_id is not None and row.owner:
            self.caller.require_owner(user_id, field)

    def show(self, method: Callable[..., Any], owner: int, missing: NotFound) -> None:
        """Raises `missing` if the caller may not see a call's result, by the rule in the call's row.

        `owner` is the user whose result it is; 0 if the account is gone. Without a token, raises `Unauthenticated`.
        """
        if call_of(method).owner:
            self.caller.require_visible(owner, missing)

    def hashing(self) -> AbstractContextManager[None]:
        """Limits how many requests hash a password at a time, which the edge cannot see; raises `TooManyRequests`."""
        return nullcontext() if self._admission is None else self._admission.hashes.hold()

    def lasting(self, stream: AsyncGenerator[T]) -> AsyncGenerator[T]:
        """Returns a stream that ends when the caller's token expires or the process stops."""
        return self._streams.hold(stream, self.caller)

    def renew(self) -> None:
        """Begins the next event of a subscription, with new reads, limits and a deadline, as for a request."""
        self.reads = self._reads(self.clients)
        self.execution.renew()
        begin(work_s(DEFAULT_S))
