"""Clients for services over gRPC, with a method for each call in the contract's table."""

from __future__ import annotations

import importlib
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Generic

from google.protobuf.message import Message
from grpc.aio import AioRpcError, UnaryStreamMultiCallable, UnaryUnaryMultiCallable

from shop.contract.calls import Call, P, Q, R, Service
from shop.contract.wire import protobuf_codec, requests
from shop.platform.config import split_address
from shop.platform.deadline import DEFAULT_S, remaining
from shop.platform.grpc.client import GrpcCall, grpc_channel
from shop.platform.grpc.status import restore, traced_method
from shop.platform.process.runtime import Runtime

CLOSE_LIMIT_S = 1.0


def grpc_client(stack: AsyncExitStack, service: Service[P], address: str, socket: str | None, runtime: Runtime) -> P:
    """Returns a client for a service; `address` and `socket` are as for `grpc_channel`."""
    channel = grpc_channel(address, service.full_name, service.reads, socket)
    stack.push_async_callback(channel.close, CLOSE_LIMIT_S)
    stubs = importlib.import_module(f"shop.stubs.{service.name}.v1.{service.name}_pb2_grpc")
    stub = getattr(stubs, f"{service.full_name.rpartition('.')[2]}Stub")(channel)
    # gRPC does not say which replica a call goes to.
    place: dict[str, str | int] = {"server.address": f"ipv4:{address}"}
    if "," not in address:
        host, port = split_address(address)
        place = {"server.address": host, "server.port": port}

    def make(call: Call[..., object]) -> Callable[..., object]:
        remote = _RemoteCall(service, call, stub, place, runtime)
        return remote.stream if call.streams else remote.unary

    return service.implement(make)


class _RemoteCall(Generic[Q, R]):
    """A call of a service; raises the service's error, or `Unavailable` if it does not answer."""

    def __init__(
        self, service: Service[object], call: Call[Q, R], stub: object, place: Mapping[str, str | int], runtime: Runtime
    ) -> None:
        codec, method = protobuf_codec(call), getattr(stub, call.name)
        self._peer = service.name
        # Only one of the two types is true, as `call.streams` says.
        self._send: UnaryUnaryMultiCallable[Message, Message] = method
        self._open: UnaryStreamMultiCallable[Message, Message] = method
        self._traced = traced_method(service.full_name, call.name, place)
        self._runtime = runtime
        self._lasts = call.lasts
        self._request, self._value, self._rows = requests(codec), codec.value, codec.rows

    async def unary(self, *args: Q.args, **kwargs: Q.kwargs) -> R:
        request, limit = self._request(*args, **kwargs), remaining() or DEFAULT_S
        with GrpcCall(self._traced, self._runtime) as call:
            try:
                message = await self._send(request, timeout=limit, metadata=call.metadata)
            except AioRpcError as error:
                call.note_status(error.code())
                raise restore(error, self._peer) from None
        return self._value(message)

    async def stream(self, *args: Q.args, **kwargs: Q.kwargs) -> AsyncGenerator[R]:
        """Yields the rows of each part; the parts of an endless stream are single events.

        The span ends when the stream ends, or the caller gives up.
        """
        request, limit = self._request(*args, **kwargs), None if self._lasts else remaining() or DEFAULT_S
        with GrpcCall(self._traced, self._runtime) as call:
            parts = self._open(request, timeout=limit, metadata=call.metadata)
            try:
                async for part in parts:
                    for row in (self._value(part),) if self._lasts else self._rows(part):
                        yield row
            except AioRpcError as error:
                call.note_status(error.code())
                raise restore(error, self._peer) from None
            finally:
                parts.cancel()
