"""Clients of services that are called over Thrift, with a method for each call of the table that Thrift has."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from types import SimpleNamespace
from typing import Any

from shop.clients.http_channel import HttpChannel
from shop.clients.pages import pages
from shop.clients.thrift.channel import FramedPeer, HttpPeer, ThriftPeer
from shop.contract.calls import Call, Service
from shop.contract.wire import Codec, thrift_codecs
from shop.platform.process.runtime import Runtime
from shop.platform.thrift.encoding import MOST_ROWS, complete


def over_http(service: Service, channel: HttpChannel) -> Any:
    """Returns a client of a service over TJSON and HTTP."""
    return _client(HttpPeer(service, channel))


def framed(stack: AsyncExitStack, service: Service, address: str, socket: str | None, runtime: Runtime) -> Any:
    """Returns a client of a service over framed Thrift.

    Args:
        stack: Closes its connections.
        service: The service.
        address: "host:port", or those of its replicas with commas between.
        socket: Path of the Unix domain socket to connect in place of the address.
        runtime: What traces and measures the calls.
    """
    peer = FramedPeer(service, address.split(","), socket, runtime)
    stack.push_async_callback(peer.close)
    return _client(peer)


def _client(peer: ThriftPeer) -> Any:
    codecs = thrift_codecs(peer.service)
    return SimpleNamespace(
        **{row.port: _method(row, codecs[row.name], peer) for row in peer.service.calls if row.name in codecs}
    )


def _method(row: Call, codec: Codec, peer: ThriftPeer) -> Callable[..., Any]:
    async def answer(*args: Any, **kwargs: Any) -> Any:
        return codec.value(await peer.call(row.name, complete(codec.request(*args, **kwargs))))

    after = next(iter(inspect.signature(codec.request).parameters), "")
    key = after.removeprefix("after_")

    async def rows(*, limit: int = 0, **start: int) -> AsyncIterator[Any]:

        async def page(behind: int, size: int) -> list[Any]:
            return list(await answer(**{after: behind, "limit": size}))

        def id_of(item: Any) -> int:
            identifier: int = getattr(item, key, None) or item.id
            return identifier

        async for item in pages(page, start.get(after, 0), limit, largest=MOST_ROWS, id_of=id_of):
            yield item

    return rows if row.streams else answer
