"""The services' names and reads, for channels to them."""

from __future__ import annotations

from dataclasses import dataclass

from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.descriptor_pb2 import MethodOptions

from shop.stubs import notification_pb2, order_pb2, payment_pb2, product_pb2, user_pb2


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


def _service(name: str, contract: ServiceDescriptor) -> Service:
    reads = (
        method.name
        for method in contract.methods
        if method.GetOptions().idempotency_level == MethodOptions.NO_SIDE_EFFECTS
    )
    return Service(name, contract.full_name, tuple(reads))


PRODUCT = _service("product", product_pb2.DESCRIPTOR.services_by_name["ProductService"])
USER = _service("user", user_pb2.DESCRIPTOR.services_by_name["UserService"])
ORDER = _service("order", order_pb2.DESCRIPTOR.services_by_name["OrderService"])
PAYMENT = _service("payment", payment_pb2.DESCRIPTOR.services_by_name["PaymentService"])
NOTIFICATION = _service("notification", notification_pb2.DESCRIPTOR.services_by_name["NotificationService"])
