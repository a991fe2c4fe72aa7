"""The types that mypy infers for clients: `make lint` checks them, and this code never runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import assert_type

from shop.clients.graphql import graphql_client
from shop.clients.grpc import grpc_client
from shop.clients.http_channel import HttpChannel
from shop.clients.protocol_by_address import connect
from shop.clients.rest import rest_client
from shop.clients.thrift import framed_client, tjson_client
from shop.contract.calls import ORDER, PAYMENT, PRODUCT, USER, call_of
from shop.contract.ports import OrderClient, Orders, PaymentClient, ProductClient, UserClient
from shop.contract.wire import protobuf_codec
from shop.platform.process.runtime import BARE
from shop.values.order import JoinedOrderLine, Order
from shop.values.page import Page
from shop.values.product import Product


async def infer(stack: AsyncExitStack, channel: HttpChannel) -> None:
    """Makes a client over each protocol."""
    assert_type(grpc_client(stack, PRODUCT, "", None, BARE), ProductClient)
    assert_type(framed_client(stack, PRODUCT, "", None, BARE), ProductClient)
    assert_type(tjson_client(USER, channel), UserClient)
    assert_type(rest_client(ORDER, channel), OrderClient)
    assert_type(graphql_client(PAYMENT, channel), PaymentClient)
    orders = rest_client(ORDER, channel)
    assert_type(await orders.get_order(1), Order)
    assert_type(orders.stream_order_lines(), AsyncIterator[JoinedOrderLine])
    protobuf_codec(call_of(Orders.cancel_order)).request("an order's id is a number")  # type: ignore[arg-type]
    async with connect({}, "test") as clients:
        assert_type(await clients.product.list_products(), Page[Product])
