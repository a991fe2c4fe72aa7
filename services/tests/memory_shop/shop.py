"""A whole shop in memory, empty or with demo data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from memory_shop.orders import PLACED_AT, MemoryOrders
from memory_shop.payments import MemoryPayments
from memory_shop.products import MemoryProducts
from memory_shop.store import Store
from memory_shop.users import MemoryUsers
from shop.clients.ports import Clients
from shop.money import Money
from shop.order.domain import Order, OrderLine, OrderStatus
from shop.payment.domain import Payment, PaymentStatus
from shop.product.domain import Product, Review
from shop.user.domain import Address, User

DEMO_PASSWORD = "hopwise-demo"
_STATUSES = (OrderStatus.CONFIRMED, OrderStatus.SHIPPED, OrderStatus.DELIVERED, OrderStatus.CANCELLED)


@dataclass
class MemoryShop:
    """The four services over one store.

    Args:
        store: The tables and the record of calls.
        sign: Makes the token that a login of a user id gives.
    """

    store: Store = field(default_factory=Store)
    sign: Callable[[int], str] = "token-{}".format

    def __post_init__(self) -> None:
        self.clients = Clients(
            product=MemoryProducts(self.store),
            user=MemoryUsers(self.store, self.sign),
            order=MemoryOrders(self.store),
            payment=MemoryPayments(self.store),
        )

    @classmethod
    def demo(
        cls, *, products: int = 200, users: int = 20, regulars: int = 5, sign: Callable[[int], str] = "token-{}".format
    ) -> MemoryShop:
        """Returns a shop with data of the seeded shape: 3 reviews a product, 10 orders for each of the first users.

        Args:
            products: How many products, 100 of them in each category.
            users: How many users.
            regulars: How many of the users have 10 orders each; the others have none.
            sign: Makes the token that a login of a user id gives.
        """
        shop = cls(sign=sign)
        store = shop.store
        for id_ in range(1, products + 1):
            store.products[id_] = _product(id_)
            for review_id in range(3 * id_ - 2, 3 * id_ + 1):
                store.reviews[review_id] = _review(review_id, id_, 1 + review_id % users)
        for id_ in range(1, users + 1):
            address = Address(f"User {id_}", f"Example Street {id_}", "Springfield", f"{10000 + id_}", "DE")
            store.users[id_] = User(id_, f"user{id_}@example.com", f"User {id_}", address)
            store.passwords[id_] = DEMO_PASSWORD
        line_id = 1
        for id_ in range(1, 10 * regulars + 1):
            order = _order(id_, 1 + (id_ - 1) % regulars, line_id, products)
            line_id += len(order.lines)
            store.orders[id_] = order
            voided = order.status is OrderStatus.CANCELLED
            store.payments[id_] = Payment(
                id=id_,
                checkout_id=f"checkout-{id_}",
                order_id=id_,
                user_id=order.user_id,
                status=PaymentStatus.VOIDED if voided else PaymentStatus.CAPTURED,
                amount=order.total,
                placed_at=order.placed_at,
            )
        return shop


def _product(id_: int) -> Product:
    price = Money(100 + id_ * 37 % 99_900, "EUR")
    return Product(id_, f"Product {id_}", f"What product {id_} is.", f"c{(id_ - 1) // 100:04d}", price, 1000 + id_)


def _review(id_: int, product_id: int, user_id: int) -> Review:
    return Review(id_, product_id, user_id, 1 + id_ % 5, f"Review {id_}", f"What review {id_} says.")


def _order(id_: int, user_id: int, line_id: int, products: int) -> Order:
    lines = tuple(
        OrderLine(
            id=line_id + position,
            line_number=position + 1,
            product_id=(product_id := 1 + (id_ * 7 + position) % products),
            quantity=1 + position % 2,
            unit_price=_product(product_id).price,
        )
        for position in range(1 + id_ % 5)
    )
    total = Money(sum(line.unit_price.amount_minor * line.quantity for line in lines), "EUR")
    placed_at = PLACED_AT - timedelta(days=1000) + timedelta(hours=id_)
    return Order(id_, user_id, _STATUSES[id_ % 4], placed_at, total, lines)
