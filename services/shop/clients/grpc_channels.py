"""The four services' names and reads, for channels to them."""

from __future__ import annotations

from dataclasses import dataclass

from shop.stubs import order_pb2, payment_pb2, product_pb2, user_pb2


@dataclass(frozen=True, slots=True)
class Service:
    """A service of the contract.

    Attributes:
        name: Short name: "product".
        full_name: Name in the contract.
        reads: Methods that change nothing, so that they may be tried again.
    """

    name: str
    full_name: str
    reads: tuple[str, ...]


PRODUCT = Service(
    "product",
    product_pb2.DESCRIPTOR.services_by_name["ProductService"].full_name,
    ("GetProduct", "BatchGetProducts", "ListProducts", "BatchListReviews", "StreamProductRows"),
)
USER = Service(
    "user",
    user_pb2.DESCRIPTOR.services_by_name["UserService"].full_name,
    ("GetUser", "BatchGetUsers", "ListUsers"),
)
ORDER = Service(
    "order",
    order_pb2.DESCRIPTOR.services_by_name["OrderService"].full_name,
    ("GetOrder", "BatchGetOrders", "ListOrdersByUser", "StreamOrderLines"),
)
PAYMENT = Service(
    "payment",
    payment_pb2.DESCRIPTOR.services_by_name["PaymentService"].full_name,
    ("GetPayment", "BatchGetPaymentsByOrder"),
)
