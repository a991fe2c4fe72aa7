"""Clients of services that are called over gRPC, with a method for each call of the table."""

from __future__ import annotations

import importlib
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, aclosing
from types import SimpleNamespace
from typing import Any

from shop.contract.calls import Call, Service
from shop.contract.wire import Codec, protobuf_codecs, requests
from shop.platform.grpc.client import Peer, grpc_channel
from shop.platform.process.runtime import Runtime

CLOSE_LIMIT_S = 1.0


def over_grpc(stack: AsyncExitStack, service: Service, address: str, socket: str | None, runtime: Runtime) -> Any:
    """Returns a client of a service, which has the methods of its port.

    Args:
        stack: Closes its channel.
        service: The service.
        address: "host:port", or those of its replicas with commas between.
        socket: Path of the Unix domain socket to connect instead of the address; None to connect the address.
        runtime: What traces and measures the calls.
    """
    channel = grpc_channel(address, service.full_name, service.reads, socket)
    stack.push_async_callback(channel.close, CLOSE_LIMIT_S)
    peer = Peer(service.name, service.full_name, address, runtime)
    stubs = importlib.import_module(f"shop.stubs.{service.name}.v1.{service.name}_pb2_grpc")
    stub = getattr(stubs, f"{service.full_name.rpartition('.')[2]}Stub")(channel)
    codecs = protobuf_codecs(service)
    return SimpleNamespace(
        **{call.port: _method(call, codecs[call.name], peer, getattr(stub, call.name)) for call in service.calls}
    )


def _method(call: Call, codec: Codec, peer: Peer, send: Any) -> Callable[..., Any]:
    name, request, value = call.name, requests(codec), codec.value

    async def answer(*args: Any, **kwargs: Any) -> Any:
        return value(await peer.unary(send, name, request(*args, **kwargs)))

    async def rows(*args: Any, **kwargs: Any) -> AsyncGenerator[Any]:
        async for chunk in peer.stream(send, name, request(*args, **kwargs)):
            for row in value(chunk):
                yield row

    def watch(*args: Any, **kwargs: Any) -> AsyncGenerator[Any]:
        return updates(peer.watch(send, name, request(*args, **kwargs)))

    async def updates(messages: AsyncGenerator[Any]) -> AsyncGenerator[Any]:
        async with aclosing(messages):
            async for message in messages:
                yield value(message)

    if call.lasts:
        return watch
    return rows if call.streams else answer
