"""Clients of services that are called over Thrift."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from types import ModuleType
from typing import Any

from shop.clients.http_channel import HttpChannel
from shop.clients.thrift.channel import FramedPeer, HttpPeer
from shop.clients.thrift.order import ThriftOrderClient
from shop.clients.thrift.payment import ThriftPaymentClient
from shop.clients.thrift.product import ThriftProductClient
from shop.clients.thrift.user import ThriftUserClient
from shop.contract.calls import ORDER, PAYMENT, PRODUCT, USER, Service
from shop.platform.process.runtime import Runtime
from shop.stubs.thrift import OrderService, PaymentService, ProductService, UserService

_CLIENTS: Mapping[Service, tuple[type[Any], ModuleType]] = {
    PRODUCT: (ThriftProductClient, ProductService),
    USER: (ThriftUserClient, UserService),
    ORDER: (ThriftOrderClient, OrderService),
    PAYMENT: (ThriftPaymentClient, PaymentService),
}


def over_http(service: Service, channel: HttpChannel) -> Any:
    """Returns a client of a service over TJSON and HTTP."""
    client, stubs = _CLIENTS[service]
    return client(HttpPeer(service, stubs, channel))


def framed(stack: AsyncExitStack, service: Service, address: str, socket: str | None, runtime: Runtime) -> Any:
    """Returns a client of a service over framed Thrift.

    Args:
        stack: Closes its connections.
        service: The service.
        address: "host:port", or those of its replicas with commas between.
        socket: Path of the Unix domain socket to connect in place of the address.
        runtime: What traces and measures the calls.
    """
    client, stubs = _CLIENTS[service]
    peer = FramedPeer(service, stubs, address.split(","), socket, runtime)
    stack.push_async_callback(peer.close)
    return client(peer)
