"""Notifications and their parts, as services and clients exchange them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Struct

from shop.fields import Id, describe
from shop.values.order import OrderStatus

KEPT = 100
"""Number of notifications that are kept for each customer."""
INSTANT = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{6})?Z$"
Moment = Annotated[datetime, describe("When the order changed: RFC 3339 in microseconds, UTC.", pattern=INSTANT)]

NewStatus = Annotated[OrderStatus, describe("The order's new status.")]


class Event(Struct, frozen=True, gc=False):
    """A change of an order's status.

    Attributes:
        id: Its number, from 1 upwards; ascending within an order.
        happened_at: When it changed, to the microsecond, by the order service's database.
        traceparent: Context of the trace that the event belongs to (W3C); empty for none.
    """

    id: int
    order_id: int
    user_id: int
    status: OrderStatus
    happened_at: datetime
    traceparent: str = ""


class Notification(Struct, frozen=True, gc=False):
    """A customer's notification of an order."""

    position: Annotated[int, describe("Number among the customer's notifications.", minimum=1)]
    order_id: Id
    status: NewStatus
    created_at: Moment
    read: Annotated[bool, describe("Whether the customer has read it.")]
    traceparent: Annotated[str, describe("Context of the trace that follows it (W3C); empty if none does.")] = ""


class Update(Struct, frozen=True, gc=False):
    """A part of a stream of notifications.

    Attributes:
        notification: What happened; None from a stream that is open, or still is after a while of silence.
        position: Position behind which another stream begins with what this one has not told yet.
    """

    notification: Notification | None
    position: int
