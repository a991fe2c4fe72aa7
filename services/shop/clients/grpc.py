"""Clients for services over gRPC, with a method for each call in the contract's table."""

from __future__ import annotations

import importlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing

from google.protobuf.message import Message
from grpc.aio import UnaryStreamMultiCallable, UnaryUnaryMultiCallable

from shop.contract.calls import Call, P, Q, R, Service
from shop.contract.wire import Codec, protobuf_codec, requests
from shop.platform.grpc.client import Peer, grpc_channel
from shop.platform.process.runtime import Runtime
from shop.platform.telemetry.tracing import TracedMethod

CLOSE_LIMIT_S = 1.0


def grpc_client(stack: AsyncExitStack, service: Service[P], address: str, socket: str | None, runtime: Runtime) -> P:
    """Returns a client for a service; `address` and `socket` are as for `grpc_channel`."""
    channel = grpc_channel(address, service.full_name, service.reads, socket)
    stack.push_async_callback(channel.close, CLOSE_LIMIT_S)
    peer = Peer(service.name, service.full_name, address, runtime)
    stubs = importlib.import_module(f"shop.stubs.{service.name}.v1.{service.name}_pb2_grpc")
    stub = getattr(stubs, f"{service.full_name.rpartition('.')[2]}Stub")(channel)

    def make(call: Call[..., object]) -> Callable[..., object]:
        send, traced, codec = getattr(stub, call.name), peer.trace(call.name), protobuf_codec(call)
        if call.streams:
            return _stream(peer, send, traced, codec, lasts=call.lasts)
        return _unary(peer, send, traced, codec)

    return service.implement(make)


def _unary(
    peer: Peer, send: UnaryUnaryMultiCallable[Message, Message], traced: TracedMethod, codec: Codec[Q, R]
) -> Callable[Q, Awaitable[R]]:
    request, value = requests(codec), codec.value

    async def answer(*args: Q.args, **kwargs: Q.kwargs) -> R:
        return value(await peer.unary(send, traced, request(*args, **kwargs)))

    return answer


def _stream(
    peer: Peer,
    send: UnaryStreamMultiCallable[Message, Message],
    traced: TracedMethod,
    codec: Codec[Q, R],
    *,
    lasts: bool,
) -> Callable[Q, AsyncGenerator[R]]:
    """Returns a function that yields the rows of each part; the parts of an endless stream are single events."""
    request, rows_of, value = requests(codec), codec.rows, codec.value

    async def stream(*args: Q.args, **kwargs: Q.kwargs) -> AsyncGenerator[R]:
        async with aclosing(peer.stream(send, traced, request(*args, **kwargs), lasts=lasts)) as parts:
            async for part in parts:
                for row in (value(part),) if lasts else rows_of(part):
                    yield row

    return stream
