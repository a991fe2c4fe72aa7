"""The tables that the in-memory services share, and the record of the calls made to them."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from shop.clients.ports import Page
from shop.errors import InvalidArgument, InvalidPageToken
from shop.order.domain import Order
from shop.payment.domain import Payment
from shop.product.domain import Product, Reservation, Review
from shop.user.domain import User

T = TypeVar("T")

MAX_BATCH = 1000


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a port: its method, and the moments (counted in starts and ends) between which it ran."""

    method: str
    started: int
    ended: int

    def overlaps(self, other: Call) -> bool:
        """Tells whether both were under way at the same moment."""
        return self.started < other.ended and other.started < self.ended


@dataclass(slots=True)
class Store:
    """Every table of the shop, keyed by id.

    Args:
        on_call: Awaited at the start of every call with the method's name; may wait or raise, as a slow or broken
            service would.
    """

    products: dict[int, Product] = field(default_factory=dict)
    reviews: dict[int, Review] = field(default_factory=dict)
    reservations: dict[str, Reservation] = field(default_factory=dict)
    users: dict[int, User] = field(default_factory=dict)
    passwords: dict[int, str] = field(default_factory=dict)
    orders: dict[int, Order] = field(default_factory=dict)
    payments: dict[int, Payment] = field(default_factory=dict)
    checkouts: dict[tuple[int, str], tuple[object, int]] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    on_call: Callable[[str], Awaitable[None]] | None = None
    moments: int = 0

    def owner(self, user_id: int) -> int:
        """Returns whom a thing of this user belongs to: 0 once the account is gone."""
        return user_id if user_id in self.users else 0

    def moment(self) -> int:
        """Returns the next number of the logical clock that orders starts and ends."""
        self.moments += 1
        return self.moments

    @property
    def methods(self) -> list[str]:
        """The methods called so far, in the order in which they ended."""
        return [call.method for call in self.calls]


class MemoryService:
    """What the four in-memory services share: the store, and how a call is recorded."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def called(self, method: str) -> None:
        """Records one call of the method, after the store's hook has let it through."""
        started = self.store.moment()
        try:
            if self.store.on_call is not None:
                await self.store.on_call(method)
        finally:
            self.store.calls.append(Call(method, started, self.store.moment()))


def check_id(value: int, name: str) -> None:
    """Raises InvalidArgument unless the identifier is at least 1."""
    if value < 1:
        raise InvalidArgument(f"{name} is {value}; it must be at least 1", field=name)


def check_batch(ids: Sequence[int], name: str) -> list[int]:
    """Returns the ids without repetitions.

    Raises:
        InvalidArgument: There are none, more than 1,000, or one below 1.
    """
    if not 1 <= len(ids) <= MAX_BATCH:
        raise InvalidArgument(f"{name} has {len(ids)} ids; 1 to {MAX_BATCH} are valid", field=name)
    for position, value in enumerate(ids):
        check_id(value, f"{name}[{position}]")
    return list(dict.fromkeys(ids))


def page_size(asked: int, default: int, most: int) -> int:
    """Returns the size of a page, `default` for 0.

    Raises:
        InvalidArgument: The size asked for is below 0 or above `most`.
    """
    if not 0 <= asked <= most:
        raise InvalidArgument(f"page_size is {asked}; 1 to {most} are valid, 0 means {default}", field="page_size")
    return asked or default


def page_of(items: Sequence[T], size: int, scope: str, id_of: Callable[[T], int]) -> Page[T]:
    """Returns the first `size` items as a page whose token names the last one."""
    shown = tuple(items[:size])
    return Page(shown, encode_token(scope, id_of(shown[-1])) if len(items) > size else "")


def encode_token(scope: str, after: int) -> str:
    """Returns a page token for what comes after an id, valid for one scope."""
    return base64.urlsafe_b64encode(f"{scope}|{after}".encode()).decode().rstrip("=")


def decode_token(token: str, scope: str) -> int:
    """Returns the id that a page token names, 0 for the empty one.

    Raises:
        InvalidPageToken: The token was made up, or belongs to another scope.
    """
    if not token:
        return 0
    try:
        found, _, after = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode().rpartition("|")
        if found == scope:
            return int(after)
    except ValueError:
        pass
    raise InvalidPageToken(
        "page_token was not handed out by this call; leave it empty for the first page", field="page_token"
    )
