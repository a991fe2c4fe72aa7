"""What the order service needs: its own database, and sagas that can be resumed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

from msgspec import Struct

from shop.errors import Conflict
from shop.order.checkout_states import Checkout, Refusal, Step
from shop.order.domain import Purchase
from shop.values.notification import Event
from shop.values.order import JoinedOrderLine, Order, OrderStatus


class Cancellation(Struct, frozen=True, gc=False):
    """A cancellation under way.

    Attributes:
        order_id: The order, which is already CANCELLED.
        checkout_id: Id of the order's stock reservation and payment.
        epoch: How many times the cancellation has been taken over.
    """

    order_id: int
    checkout_id: str
    epoch: int = 1

    @property
    def id(self) -> str:
        """Name of the cancellation in the log."""
        return f"cancellation of order {self.order_id}"


class TakenOver(Conflict):
    """Another process has taken the saga over, since this process seemed dead; this process must not touch it again."""


class OrderStore(Protocol):
    """Orders with their lines; each method but `lines` is one statement, regardless of the number of rows."""

    async def get(self, order_id: int) -> Order | None:
        """Returns one order."""

    async def get_many(self, order_ids: Sequence[int]) -> list[Order]:
        """Returns the orders that exist, by ascending id."""

    async def of_user(self, user_id: int, *, before: int, limit: int) -> list[Order]:
        """Returns a user's orders with ids below `before` (0 for all), newest first; none if the account is gone."""

    async def move(self, order_id: int, *, current: OrderStatus, wanted: OrderStatus) -> Order | None:
        """Changes an order's status to `wanted`; returns None if its status is not `current`, or it does not exist."""

    def lines(self, *, after: int, limit: int, chunk: int) -> AsyncGenerator[list[JoinedOrderLine]]:
        """Reads order lines with ids above `after`, joined with their orders, in chunks by ascending id.

        A long read has several statements, so it may contain lines and statuses that were stored after it began.
        """


class Outbox(Protocol):
    """Undelivered order events; each change to an order's status adds an event in the same transaction."""

    def lend(self, orders: int) -> AbstractAsyncContextManager[list[Event]]:
        """Lends the events of up to `orders` orders, oldest first; removes them at the end unless the block raises.

        It skips orders whose events another process is delivering.
        """


class CheckoutStore(Protocol):
    """The state of checkouts. Every change raises `TakenOver` if another process has taken the checkout over."""

    async def claim(self, checkout: Checkout) -> Checkout:
        """Begins a checkout, unless its user and key already have one.

        Returns:
            The given checkout, which the caller must drive; or the existing checkout, which has another id. A checkout
            that failed for a temporary reason is begun anew, under the new id.

        Raises:
            NotFound: There is a checkout, but the user's account is gone.
        """

    async def advance(self, checkout: Checkout, step: Step) -> Checkout:
        """Records that a step is about to begin."""

    async def place(self, checkout: Checkout, purchase: Purchase) -> Order:
        """Stores the order as PENDING and moves the checkout to SETTLE, in one statement: the pivot."""

    async def complete(self, checkout: Checkout) -> None:
        """Makes the order CONFIRMED and the checkout COMPLETED, in one statement."""

    async def start_undo(self, checkout: Checkout, step: Step, refusal: Refusal) -> Checkout:
        """Records that everything up to a step is about to be undone, and the error for the caller."""

    async def fail(self, checkout: Checkout, refusal: Refusal) -> None:
        """Ends a checkout that has been undone completely."""

    async def postpone(self, checkout: Checkout, seconds: float) -> None:
        """Leaves a checkout to recovery, which may take it over after `seconds`."""

    async def take_stuck(self, limit: int) -> list[Checkout]:
        """Takes over unfinished checkouts without a driver; two processes never get the same checkout."""


class CancellationStore(Protocol):
    """The state of cancellations."""

    async def begin(self, order_id: int) -> Cancellation | None:
        """Makes a CONFIRMED order CANCELLED and records the cancellation; returns None for any other order."""

    async def find_running(self, order_id: int) -> Cancellation | None:
        """Returns the cancellation of an order if it is under way."""

    async def complete(self, cancellation: Cancellation) -> None:
        """Ends a cancellation; ending it twice does no harm."""

    async def postpone(self, cancellation: Cancellation, seconds: float) -> None:
        """Leaves a cancellation to recovery, which may take it over after `seconds`."""

    async def take_stuck(self, limit: int) -> list[Cancellation]:
        """Takes over unfinished cancellations without a driver."""


class OrderStores(NamedTuple):
    """The stores of the order service, over the same rows."""

    orders: OrderStore
    checkouts: CheckoutStore
    cancellations: CancellationStore
