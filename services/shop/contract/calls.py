"""The table of calls: one row per call, read from the methods and their options in `proto/shop`.

A row says who may make the call, which user it concerns, whether it only reads, and which route REST has for it. The
servers, clients and gateways of every protocol use this table.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from types import SimpleNamespace
from typing import Concatenate, Generic, ParamSpec, TypeVar, cast

from google.protobuf.descriptor import FileDescriptor, MethodDescriptor
from google.protobuf.descriptor_pb2 import MethodOptions

from shop.contract.ports import NotificationClient, OrderClient, PaymentClient, ProductClient, UserClient
from shop.stubs import call_pb2, notification_pb2, order_pb2, payment_pb2, product_pb2, user_pb2

P = TypeVar("P", covariant=True)
Q = ParamSpec("Q")
R = TypeVar("R", covariant=True)
Self = TypeVar("Self")


class Access(StrEnum):
    """The callers that a call admits."""

    EVERYBODY = "everybody"
    CALLER = "caller"
    """Everybody with a token; customers see only their own data."""
    PARTNER = "partner"
    INTERNAL = "internal"
    """Other services and gateways, but no callers from outside."""


@dataclass(frozen=True, slots=True)
class Call(Generic[Q, R]):
    """A call of the contract: `Q` are the arguments of the port's method, and `R` is its result.

    Attributes:
        service: Short name of its service: "product".
        name: Name in the contract: "GetProduct".
        port: Name of the port's method and of the use case: "get_product".
        owner: Path to the id of the user concerned, as in `CallRule.owner`; empty if the call concerns no user.
        rest: Method and path in REST: "GET /v1/products/{product_id}", with a query if a path has several calls. Empty
            if REST does not have the call.
        reads: Whether the call changes nothing, and a client may therefore retry it.
        lasts: Whether its stream lasts until either side ends it.
    """

    service: str
    name: str
    port: str
    access: Access
    owner: str
    rest: str
    reads: bool
    streams: bool
    lasts: bool


@dataclass(frozen=True, slots=True)
class Service(Generic[P]):
    """A service of the contract, such as "product", or in full "shop.product.v1.ProductService"; `P` is its port."""

    name: str
    full_name: str
    port: type[object]
    calls: tuple[Call[..., object], ...]

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the calls that change nothing, and that a client may therefore retry."""
        return tuple(call.name for call in self.calls if call.reads)

    def implement(self, make: Callable[[Call[..., object]], Callable[..., object] | None]) -> P:
        """Returns a port with the methods that `make` returns, one for each call; None leaves the method out."""
        methods = {call.port: method for call in self.calls if (method := make(call)) is not None}
        return cast(P, SimpleNamespace(**methods))


def call_of(method: Callable[Concatenate[Self, Q], R]) -> Call[Q, R]:
    """Returns the row in the table for a port's method: `call_of(Orders.checkout)`; raises `KeyError` for no row."""
    return cast(Call[Q, R], _BY_PORT[method.__name__])


def _service(file: FileDescriptor, port: type[object]) -> Service[P]:
    [contract] = file.services_by_name.values()
    name = file.package.split(".")[1]
    return Service(name, contract.full_name, port, tuple(_call(name, method) for method in contract.methods))


def _call(service: str, method: MethodDescriptor) -> Call[..., object]:
    options = method.GetOptions()
    rule = options.Extensions[call_pb2.call]
    return Call(
        service=service,
        name=method.name,
        port=re.sub(r"(?<!^)(?=[A-Z])", "_", method.name).lower(),
        access=Access(call_pb2.Access.Name(rule.access).removeprefix("ACCESS_").lower()),
        owner=rule.owner,
        rest=rule.rest,
        reads=options.idempotency_level == MethodOptions.NO_SIDE_EFFECTS,
        streams=method.server_streaming,
        # A finite stream consists of chunks of rows; in an endless stream, each message is one event.
        lasts=method.server_streaming and not any(field.is_repeated for field in method.output_type.fields),
    )


PRODUCT: Service[ProductClient] = _service(product_pb2.DESCRIPTOR, ProductClient)
USER: Service[UserClient] = _service(user_pb2.DESCRIPTOR, UserClient)
ORDER: Service[OrderClient] = _service(order_pb2.DESCRIPTOR, OrderClient)
PAYMENT: Service[PaymentClient] = _service(payment_pb2.DESCRIPTOR, PaymentClient)
NOTIFICATION: Service[NotificationClient] = _service(notification_pb2.DESCRIPTOR, NotificationClient)
SERVICES: tuple[Service[object], ...] = (PRODUCT, USER, ORDER, PAYMENT, NOTIFICATION)

_BY_PORT = {call.port: call for service in SERVICES for call in service.calls}
