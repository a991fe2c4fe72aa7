"""Orders: their types and rules, without any input or output."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from shop.money import Money


class OrderStatus(StrEnum):
    """How far an order has come."""

    PENDING = "PENDING"
    CONFIRMED = "CONFIRMED"
    SHIPPED = "SHIPPED"
    DELIVERED = "DELIVERED"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class CheckoutLine:
    """One product to buy and how many pieces of it."""

    product_id: int
    quantity: int


@dataclass(frozen=True, slots=True)
class OrderLine:
    """One product of an order, with the price of one piece when it was bought."""

    id: int
    line_number: int
    product_id: int
    quantity: int
    unit_price: Money


@dataclass(frozen=True, slots=True)
class Order:
    """What one user bought at one time; `placed_at` has whole seconds in UTC."""

    id: int
    user_id: int
    status: OrderStatus
    placed_at: datetime
    total: Money
    lines: tuple[OrderLine, ...]


@dataclass(frozen=True, slots=True)
class JoinedOrderLine:
    """An order line together with what it needs of its order."""

    id: int
    order_id: int
    user_id: int
    status: OrderStatus
    placed_at: datetime
    product_id: int
    quantity: int
    unit_price: Money
