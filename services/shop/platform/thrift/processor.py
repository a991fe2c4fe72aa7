"""A service's methods in Thrift, over any transport: decodes a call, admits it, does its work, encodes the answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, cast

from thrift.protocol.TProtocol import TProtocolFactory
from thrift.Thrift import TApplicationException

from shop.contract.calls import Access, Call, Service
from shop.contract.wire import Codec, thrift_codec, thrift_stubs
from shop.errors import ShopError
from shop.platform.access.rules import Authenticator
from shop.platform.telemetry.tracing import TracedMethod
from shop.platform.thrift.encoding import (
    EXCEPTION,
    MAX_ROWS,
    REPLY,
    Arguments,
    Struct,
    encode_message,
    open_message,
    read_whole,
)
from shop.platform.validation import size
from shop.stubs.thrift.ttypes import ShopError as Failure
from shop.values.page import DEFAULT_ROWS


def attributes_of(service: str, method: str) -> dict[str, str | int]:
    """Returns the attributes that identify a method in the spans of both ends."""
    return {"rpc.system.name": "thrift", "rpc.service": service, "rpc.method": method}


@dataclass(frozen=True, slots=True)
class ServedMethod:
    """A method of a service: the classes of its two structs, and functions that answer a request with a value.

    Attributes:
        answer: Function that makes a struct from that value; None for a method that returns nothing.
    """

    access: Access
    traced: TracedMethod
    arguments: Callable[[], Arguments]
    result: Callable[..., Struct]
    work: Callable[[Struct], Awaitable[object]]
    answer: Callable[[object], Struct] | None


@dataclass(frozen=True, slots=True)
class ReceivedCall:
    """A call that has arrived, with the headers that the caller sent with its request; none over HTTP."""

    headers: Mapping[str, str]
    method: ServedMethod
    _request: Struct
    _reply: Callable[[Struct], bytes] = field(repr=False)

    async def work(self, authenticator: Authenticator, authorization: str | None, origin: str | None) -> bytes:
        """Admits the caller and runs the method; returns its answer, or raises its error."""
        method = self.method
        authenticator.admit(method.access, authorization, origin)
        value = await method.work(self._request)
        return self._reply(method.result() if method.answer is None else method.result(success=method.answer(value)))

    def refusal(self, error: ShopError) -> bytes:
        failure = Failure(error.code.value, error.message, error.field or None, error.retry_after_s or None)
        return self._reply(self.method.result(error=failure))


class Processor:
    """Decodes messages into calls of one service; Thrift lacks some of the calls."""

    def __init__(self, service: Service[object], use_cases: object) -> None:
        stubs, name_in_spans = thrift_stubs(service), service.full_name.rpartition(".")[2]
        self._methods = {
            row.name: ServedMethod(
                row.access,
                TracedMethod.of(attributes_of(name_in_spans, row.name)),
                getattr(stubs, f"{row.name}_args"),
                getattr(stubs, f"{row.name}_result"),
                _work(row, codec, getattr(use_cases, row.port)),
                codec.answer,
            )
            for row in service.calls
            if (codec := thrift_codec(row)) is not None
        }

    def call(self, encoding: TProtocolFactory, message: bytes) -> ReceivedCall | bytes:
        """Returns the call in a message, or the answer to an unknown method; raises `Undecodable` without a call."""
        name, _, sequence, protocol = open_message(encoding, message)
        method = self._methods.get(name)
        if method is None:
            unknown = TApplicationException(TApplicationException.UNKNOWN_METHOD, f"there is no method {name[:100]!r}")
            return encode_message(encoding, name, EXCEPTION, sequence, unknown)
        asked = method.arguments()

        def reply(struct: Struct) -> bytes:
            return encode_message(encoding, name, REPLY, sequence, struct)

        try:
            read_whole(asked, protocol)
        except ShopError as error:
            return ReceivedCall({}, method, asked.request, reply).refusal(error)
        return ReceivedCall(asked.headers, method, asked.request, reply)


class _ListRequest(Struct, Protocol):
    limit: int


def _work(
    row: Call[..., object], codec: Codec[..., object], method: Callable[..., object]
) -> Callable[[Struct], Awaitable[object]]:
    async def collect(request: Struct) -> list[object]:
        """Returns all rows of a stream, which must fit one answer."""
        listing = cast(_ListRequest, request)
        listing.limit = size(listing.limit, "limit", default=DEFAULT_ROWS, maximum=MAX_ROWS)
        return [row async for chunk in codec.call(method, request) for row in chunk]

    return collect if row.streams else partial(codec.call, method)
