"""Read masks: which fields they keep in messages and documents, and which masks are refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from shop.contract.calls import call_of
from shop.contract.ports import Orders
from shop.contract.wire import protobuf_codec
from shop.errors import InvalidArgument
from shop.money import Money
from shop.platform.read_mask import MAX_PATHS, answering, parse_mask, paths_of, select_fields
from shop.resources.response_bodies import OrderDocument, OrderPage, order_document
from shop.stubs import order_pb2, product_pb2
from shop.values.order import Order, OrderLine, OrderStatus
from shop.values.page import Page
from shop.values.product import Product

LAMP = Product(1, "Lamp", "Gives light.", "c0001", Money(1999, "EUR"), 5)
LINE = OrderLine(9, 1, 1, 2, Money(1999, "EUR"))
ORDER = Order(7, 2, OrderStatus.SHIPPED, datetime(2025, 1, 2, tzinfo=UTC), Money(3998, "EUR"), (LINE,))


def select(paths: str, document: Any, resource: type[msgspec.Struct]) -> Any:
    """Returns the JSON of a document with only the fields at these paths."""
    mask = parse_mask(paths.split(",") if paths else [], resource, "fields")
    return json.loads(msgspec.json.encode(select_fields(document, mask)))


@pytest.mark.parametrize(
    ("paths", "left"),
    [
        ("price,id", {"id": 1, "price": {"amount_minor": 1999, "currency": "EUR"}}),
        ("price.currency", {"price": {"currency": "EUR"}}),
        ("price.currency,price", {"price": {"amount_minor": 1999, "currency": "EUR"}}),
        ("price,price.currency", {"price": {"amount_minor": 1999, "currency": "EUR"}}),
        ("", json.loads(msgspec.json.encode(LAMP))),
        ("id,*", json.loads(msgspec.json.encode(LAMP))),
    ],
)
def test_a_mask_leaves_its_fields_of_a_resource(paths: str, left: Any) -> None:
    assert select(paths, LAMP, Product) == left


def test_a_mask_reaches_the_resources_of_a_page_and_the_entries_of_their_lists() -> None:
    page = OrderPage([order_document(ORDER)], "next")
    left = {"orders": [{"id": 7, "lines": [{"quantity": 2}]}], "next_page_token": "next"}
    assert select("lines.*.quantity,id,payment", page, OrderDocument) == left
    whole = json.loads(msgspec.json.encode(ORDER))["lines"]
    assert select("lines.*", page, OrderDocument)["orders"] == [{"lines": whole}]


def test_equal_masks_give_equal_bytes() -> None:
    first, second = (
        select_fields(LAMP, parse_mask(paths, Product, "fields")) for paths in (("id", "title"), ("title", "id", "id"))
    )
    assert msgspec.json.encode(first) == msgspec.json.encode(second)


@pytest.mark.parametrize(
    ("path", "valid"),
    [
        ("secret", "valid: id, title, description, category, price, stock"),
        ("price.secret", "valid: price.amount_minor, price.currency"),
        ("title.length", "valid: title"),
        ("", "valid: id, title"),
        ("__class__", "valid: id, title"),
    ],
)
@pytest.mark.parametrize("resource", [Product, product_pb2.Product.DESCRIPTOR], ids=["REST", "gRPC"])
def test_an_unknown_path_is_refused_with_the_valid_ones(resource: Any, path: str, valid: str) -> None:
    with pytest.raises(InvalidArgument, match=valid) as refused:
        parse_mask(["id", path], resource, "read_mask")
    assert refused.value.field == "read_mask"


def test_paths_are_limited() -> None:
    with pytest.raises(InvalidArgument, match=f"at most {MAX_PATHS}"):
        parse_mask(["id"] * (MAX_PATHS + 1), Product, "fields")


def test_every_path_that_is_named_as_valid_is() -> None:
    assert "products.*.reviews.*.title" in paths_of(OrderDocument)
    for path in paths_of(OrderDocument):
        parse_mask([path], OrderDocument, "fields")


async def test_a_page_over_grpc_has_the_fields_of_its_request() -> None:
    async def list_orders(_: int, **__: Any) -> Page[Order]:
        return Page((ORDER,), "next")

    listed = answering(protobuf_codec(call_of(Orders.list_orders_by_user)), list_orders)
    asked = order_pb2.ListOrdersByUserRequest(user_id=2)
    asked.read_mask.paths.extend(["create_time", "lines.*.quantity"])
    orders = [{"create_time": {"seconds": 1735776000}, "lines": [{"quantity": 2}]}]
    assert (await listed(asked)) == order_pb2.ListOrdersByUserResponse(orders=orders, next_page_token="next")
