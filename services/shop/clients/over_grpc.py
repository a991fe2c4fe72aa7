"""Clients of services that are called over gRPC, with a method for each call of the table."""

from __future__ import annotations

import importlib
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any

import grpc.aio

from shop.contract.calls import Call, Service
from shop.contract.wire import Codec, protobuf_codecs, requests
from shop.platform.grpc.client import Peer


def over_grpc(service: Service, peer: Peer, channel: grpc.aio.Channel) -> Any:
    """Returns a client of a service, which has the methods of its port."""
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
