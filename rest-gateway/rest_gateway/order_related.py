"""Data of other services that belongs to orders, read in batches and in parallel."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import islice
from typing import Annotated, TypeVar

from fastapi import Query
from msgspec import UNSET

from shop.contract.ports import Clients
from shop.platform.parallel import both
from shop.platform.rest.parameters import VALUES_KEY
from shop.platform.validation import MAX_IDS
from shop.resources.response_bodies import OrderDocument, order_document, product_document
from shop.values.order import Order

T = TypeVar("T")

INCLUDES = frozenset({"payment", "products", "user"})

Include = Annotated[
    str,
    Query(
        description="What to include, with commas between: `payment`, `user`, `products`.",
        json_schema_extra={VALUES_KEY: sorted(INCLUDES)},
    ),
]


async def with_related(shop: Clients, orders: Sequence[Order], include: frozenset[str]) -> list[OrderDocument]:
    if not include:
        return [order_document(order) for order in orders]
    paid = [order.id for order in orders] if "payment" in include else []
    buyers = [order.user_id for order in orders if order.user_id] if "user" in include else []
    payments, (users, products) = await both(
        _batches(shop.payment.batch_get_payments_by_order, paid),
        both(
            _batches(shop.user.batch_get_users, buyers),
            _batches(shop.product.batch_get_products, _bought(orders) if "products" in include else ()),
        ),
    )
    payment_of = {payment.order_id: payment for payment in payments}
    user_of = {user.id: user for user in users}
    product_of = {product.id: product_document(product) for product in products}
    return [
        order_document(
            order,
            payment_of.get(order.id),
            user_of.get(order.user_id, UNSET),
            [product_of[id_] for id_ in _bought([order]) if id_ in product_of] if "products" in include else UNSET,
        )
        for order in orders
    ]


async def _batches(fetch: Callable[[Sequence[int]], Awaitable[list[T]]], ids: Iterable[int]) -> list[T]:
    """Returns the results of a batch call; makes several calls only if there are more ids than one call may have."""
    left = iter(dict.fromkeys(ids))
    result: list[T] = []
    while batch := list(islice(left, MAX_IDS)):
        result += await fetch(batch)
    return result


def _bought(orders: Iterable[Order]) -> Iterable[int]:
    """Returns the ids of the products in the orders' lines, each once."""
    return dict.fromkeys(line.product_id for order in orders for line in order.lines)
