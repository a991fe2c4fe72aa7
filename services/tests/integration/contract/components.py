"""The components that a program may implement: one row each, with the facts that the contract's tests need."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import psycopg

from inserted_rows import insert
from shop.contract import calls
from shop.contract.calls import Access
from update_doors import global_id

from .doors import SERVICES, ConnectDoor, Door, GrpcDoor, HttpDoor, RestDoor

NOWHERE = 2**62
GATEWAYS = ("rest-gateway", "graphql-gateway")
OVER = "%s over %s"
"""Name of the row for a service over a protocol other than gRPC."""


@dataclass(frozen=True)
class Rows:
    """Ids of the things in the database for one test: one thing of each kind, all of one customer."""

    product: int
    user: int
    order: int
    payment: int
    checkout: str


@dataclass(frozen=True)
class Call:
    """A call of a component, by its method, with content that is made from the rows."""

    name: str
    content: Callable[[Rows], Any]


@dataclass(frozen=True)
class ComponentContract:
    """A component of the contract.

    Attributes:
        component: Its name.
        read: Reads one thing.
        missing: Reads a thing that does not exist.
        wrong: A call with an argument out of range, and the field in its error.
        held: A change that waits while its row of `table` is locked.
        table: The table whose row the change waits for.
        served: Name of the SERVER span of `read`.
        below: Name and kind of each span below `served`; for a read, only the children that every implementation has.
        access: Which callers each method admits; operations of gateways have separate suites.
        calling: A call that makes calls, and their names; None for a component that makes no calls.
        owned: Calls that show or change a customer's things, and the answer to another customer.
        over: Protocol over which a service is called: `rest`, `connect`, or empty for gRPC; empty for a gateway.
    """

    component: str
    read: Call
    missing: Call
    wrong: tuple[Call, str]
    held: Call
    table: tuple[str, str]
    served: str
    below: Mapping[str, str]
    access: Mapping[str, Access]
    calling: tuple[Call, tuple[str, ...]] | None = None
    owned: tuple[tuple[Call, str], ...] = ()
    over: str = ""

    @property
    def is_gateway(self) -> bool:
        """Whether it is called over HTTP, with tokens, and has no data."""
        return self.component in GATEWAYS

    @property
    def listens(self) -> str:
        """The environment variable with the component's address."""
        return f"SHOP_LISTEN_{'HTTP' if self.is_gateway else (self.over or 'grpc').upper()}"

    @property
    def peers(self) -> tuple[str, ...]:
        return tuple(SERVICES) if self.is_gateway else ("product", "user", "payment") * (self.component == "order")

    def door(self, target: str) -> Door:
        if self.over == "rest":
            return RestDoor(target, self.component, NOWHERE)
        if self.over == "connect":
            return ConnectDoor(target, self.component)
        return HttpDoor(target) if self.is_gateway else GrpcDoor(target, self.component)


def of_service(name: str, table: str, **row: Any) -> ComponentContract:
    """Makes the row of a service that returns one thing, from a table, by its id; all are named after the service."""
    reads = f"Get{name.capitalize()}"
    return ComponentContract(
        name,
        read=Call(reads, lambda rows: {"id": getattr(rows, name)}),
        missing=Call(reads, lambda _: {"id": NOWHERE}),
        wrong=(Call(reads, lambda _: {"id": 0}), "id"),
        table=(f"shop_{name}.{table}", name),
        served=f"{SERVICES[name].full_name}/{reads}",
        below={"pool.acquire": "INTERNAL", f"SELECT {table}": "CLIENT"},
        access={call.name: call.access for service in calls.SERVICES if service.name == name for call in service.calls},
        **row,
    )


def of_gateway(name: str, served: str, *, read: Call, reads_by: str, **row: Any) -> ComponentContract:
    """Makes the row of a gateway, which reads a product through the product service; its change is a deletion."""
    called = f"{SERVICES['product'].full_name}/{reads_by}"
    return ComponentContract(
        name,
        read=read,
        served=served,
        below={called: "CLIENT"},
        calling=(read, (called,)),
        table=("shop_product.product", "product"),
        access={},
        **row,
    )


def document(text: str, *ids: tuple[str, str]) -> Callable[[Rows], str]:
    """Makes a document with global ids of things in the rows; `ids` has each thing's type and field of the rows."""
    return lambda rows: text % tuple(global_id(kind, getattr(rows, which)) for kind, which in ids)


COMPONENTS = {
    row.component: row
    for row in (
        of_service("product", "product", held=Call("DeleteProduct", lambda rows: {"id": rows.product})),
        of_service(
            "user",
            "account",
            held=Call("DeleteUser", lambda rows: {"id": rows.user}),
            owned=((Call("GetUser", lambda rows: {"id": rows.user}), "PERMISSION_DENIED"),),
        ),
        of_service(
            "order",
            "orders",
            held=Call("UpdateOrderStatus", lambda rows: {"id": rows.order, "status": "ORDER_STATUS_SHIPPED"}),
            calling=(
                Call(
                    "Checkout",
                    lambda rows: {
                        "userId": rows.user,
                        "lines": [{"productId": rows.product, "quantity": 1}],
                        "paymentToken": "tok_ok",
                        "idempotencyKey": "key",
                    },
                ),
                (
                    "shop.user.v1.UserService/GetUser",
                    "shop.product.v1.ProductService/ReserveStock",
                    "shop.product.v1.ProductService/ConfirmReservation",
                    "shop.payment.v1.PaymentService/AuthorizePayment",
                    "shop.payment.v1.PaymentService/CapturePayment",
                ),
            ),
            owned=(
                (Call("GetOrder", lambda rows: {"id": rows.order}), "NOT_FOUND"),
                (Call("CancelOrder", lambda rows: {"id": rows.order}), "NOT_FOUND"),
                (Call("ListOrdersByUser", lambda rows: {"userId": rows.user}), "PERMISSION_DENIED"),
            ),
        ),
        of_service(
            "payment",
            "payment",
            held=Call("VoidPayment", lambda rows: {"checkoutId": rows.checkout}),
            owned=((Call("GetPayment", lambda rows: {"id": rows.payment}), "NOT_FOUND"),),
        ),
        of_gateway(
            "rest-gateway",
            "GET /v1/products/{product_id}",
            reads_by="GetProduct",
            read=Call("GET", lambda rows: f"/v1/products/{rows.product}"),
            missing=Call("GET", lambda _: f"/v1/products/{NOWHERE}"),
            wrong=(Call("GET", lambda _: "/v1/products?page_size=1001"), "page_size"),
            held=Call("DELETE", lambda rows: f"/v1/products/{rows.product}"),
            owned=(
                (Call("GET", lambda rows: f"/v1/orders/{rows.order}"), "NOT_FOUND"),
                (Call("GET", lambda rows: f"/v1/payments/{rows.payment}"), "NOT_FOUND"),
                (Call("GET", lambda rows: f"/v1/users/{rows.user}"), "PERMISSION_DENIED"),
            ),
        ),
        of_gateway(
            "graphql-gateway",
            "POST /graphql",
            reads_by="BatchGetProducts",
            read=Call("graphql", document('{ product(id: "%s") { title } }', ("Product", "product"))),
            missing=Call("graphql", lambda _: f'{{ product(id: "{global_id("Product", 999_999_999)}") {{ title }} }}'),
            wrong=(Call("graphql", lambda _: "{ products(first: 1001) { edges { cursor } } }"), "first"),
            held=Call(
                "graphql",
                document('mutation { deleteProduct(input: {id: "%s"}) { deletedId } }', ("Product", "product")),
            ),
            owned=(
                (Call("graphql", document('{ order(id: "%s") { status } }', ("Order", "order"))), "NOT_FOUND"),
                (Call("graphql", document('{ user(id: "%s") { email } }', ("User", "user"))), "PERMISSION_DENIED"),
            ),
        ),
    )
}

COMPONENTS[OVER % ("product", "rest")] = replace(
    COMPONENTS["product"],
    wrong=(COMPONENTS["product"].wrong[0], "product_id"),
    served="GET /v1/products/{product_id}",
    over="rest",
)
COMPONENTS[OVER % ("product", "connect")] = replace(COMPONENTS["product"], over="connect")


def insert_rows(admin: psycopg.Connection) -> Rows:
    """Adds a product, and a customer with a paid order and an unpaid one."""
    add, checkout = partial(insert, admin), str(uuid.uuid4())
    price = {"currency": "EUR"}
    product = add(
        "shop_product.product", title="Tea", description="", category="contract", price_minor=100, stock=1, **price
    )
    place = {"recipient": "Ada", "street": "Street 1", "city": "City", "postal_code": "1", "country_code": "DE"}
    user = add("shop_user.account", email=f"{checkout}@example.com", name="Ada", password_hash="", **place)
    when = {"placed_at": "2026-01-02T03:04:05Z", "checkout_id": checkout, "user_id": user, **price}
    order = add("shop_order.orders", status="CONFIRMED", total_minor=100, **when)
    second = add("shop_order.orders", status="CONFIRMED", total_minor=100, **when | {"checkout_id": str(uuid.uuid4())})
    for one in (order, second):
        add("shop_order.order_line", order_id=one, line_number=1, product_id=product, quantity=1, unit_price_minor=100)
    payment = add("shop_payment.payment", order_id=order, status="CAPTURED", amount_minor=100, **when)
    return Rows(product, user, order, payment, checkout)
