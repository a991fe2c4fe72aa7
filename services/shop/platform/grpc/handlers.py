"""Takes every call to a gRPC server through the sequence of `shop.platform.incoming`.

This module also decodes and encodes the messages, so that the SERVER span includes that time, and a message that cannot
be decoded is the caller's error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import NamedTuple, TypeAlias

import grpc
from google.protobuf.message import DecodeError
from opentelemetry.trace import Span

from shop.contract.calls import Access, Call, Service
from shop.contract.wire import Codec, protobuf_codec
from shop.errors import InvalidArgument, ResourceExhausted, ShopError
from shop.platform.access.rules import Authenticator
from shop.platform.deadline import lift
from shop.platform.error_codes import SERVER_FAULTS
from shop.platform.grpc.status import STATUS, code_of, status_of, traced_method
from shop.platform.incoming import Around, Incoming, Request
from shop.platform.read_mask import answering
from shop.platform.telemetry.metering import MeasuredRequest
from shop.platform.telemetry.meters import Meters
from shop.platform.telemetry.recorder import Attributes, SharedAttributes
from shop.platform.telemetry.tracing import TracedMethod

Row: TypeAlias = Call[..., object]
Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"
Work: TypeAlias = Callable[[bytes, Context], Awaitable[bytes | None]]
"""Returns the answer to an admitted call; None for a stream, once all of its messages are written."""
Handlers: TypeAlias = "Mapping[str, grpc.RpcMethodHandler[bytes, bytes]]"
"""The methods of a service, by name."""

READ_LIMIT_S = 20.0
"""How long a client may take to read enough to make room for a stream's next message, in seconds."""
# The header in which gRPC counts the client's earlier attempts.
_ATTEMPTS = "grpc-previous-rpc-attempts"


def handlers_of(
    service: Service[object], use_cases: object, incoming: Incoming, around: Mapping[str, Around] | None = None
) -> Handlers:
    """Returns the methods of a service; each is wrapped once, as an interceptor would add a cost to every call."""
    handlers = {}
    for call in service.calls:
        codec, method = protobuf_codec(call), getattr(use_cases, call.port)
        work = _stream(call, codec, method) if call.streams else _unary(codec, method, (around or {}).get(call.name))
        handlers[call.name] = _guard(call, service.full_name, work, incoming)
    return handlers


def _guard(row: Row, service: str, work: Work, incoming: Incoming) -> grpc.RpcMethodHandler[bytes, bytes]:
    known = _Method(traced_method(service, row.name), row.access, incoming.authenticator, work)

    async def answer(_: object, context: Context) -> bytes | None:
        # Read here, because grpc.aio does not answer a unary call that has no message, or only half a message.
        raw: object = await context.read()
        call = _GrpcRequest(known, raw, context)
        message = await incoming.answer(call)
        if call.refusal is None:
            return message
        return await context.abort_with_status(status_of(call.refusal))

    return (grpc.stream_stream_rpc_method_handler if row.streams else grpc.stream_unary_rpc_method_handler)(answer)


class _Method(NamedTuple):
    traced: TracedMethod
    access: Access
    authenticator: Authenticator
    work: Work


class _GrpcRequest(Request[bytes | None]):
    __slots__ = ("_context", "_metadata", "_method", "_raw", "refusal")

    def __init__(self, method: _Method, raw: object, context: Context) -> None:
        self._method = method
        self._raw = raw
        self._context = context
        self._metadata: dict[str, str] = dict(context.invocation_metadata() or ())  # type: ignore[arg-type]
        self.refusal: ShopError | None = None

    def header(self, name: str) -> str | None:
        return self._metadata.get(name)

    def waits(self) -> float | None:
        edge, left = super().waits(), self._context.time_remaining()
        return edge if left is None else left if edge is None else min(left, edge)

    def describe_span(self) -> tuple[str, Attributes, SharedAttributes]:
        traced, attempts = self._method.traced, self._metadata.get(_ATTEMPTS)
        attributes = None if attempts is None else {"shop.rpc.previous_attempts": int(attempts)}
        return traced.name, attributes, traced.attributes

    async def work(self) -> bytes | None:
        method, metadata = self._method, self._metadata
        authenticator = method.authenticator
        authenticator.admit(method.access, metadata.get("authorization"), metadata.get(authenticator.origin_header))
        if not isinstance(self._raw, bytes):
            raise InvalidArgument("the call has no message, or not a whole one")
        try:
            return await method.work(self._raw, self._context)
        except DecodeError:
            raise InvalidArgument("the request is not a message of this method's type") from None

    async def refuse(self, error: ShopError) -> None:
        self.refusal = error

    def end_span(self, span: Span, error: BaseException | None) -> None:
        super().end_span(span, error)
        span.set_attribute(STATUS, _code(error).value[0])

    def measure(self, meters: Meters, asked: MeasuredRequest, error: BaseException | None) -> None:
        code = _code(error).name
        fault = code if isinstance(error, ShopError) and error.code in SERVER_FAULTS else ""
        meters.rpc_server.note(("grpc", self._method.traced.name, code, fault), asked.seconds, asked.trace_id)


def _code(error: BaseException | None) -> grpc.StatusCode:
    """Returns the status with which a call ended; CANCELLED if its caller has left."""
    if isinstance(error, ShopError):
        return code_of(error)
    return grpc.StatusCode.OK if error is None else grpc.StatusCode.CANCELLED


def _unary(codec: Codec[..., object], method: Callable[..., object], around: Around | None) -> Work:
    decode, answer = codec.request_class.FromString, answering(codec, method)

    async def work(raw: bytes, _: Context) -> bytes:
        return (await answer(decode(raw))).SerializeToString()

    async def work_within(raw: bytes, context: Context) -> bytes:
        assert around is not None
        with around(dict(context.invocation_metadata() or ())):  # type: ignore[arg-type]
            return await work(raw, context)

    return work if around is None else work_within


def _stream(row: Row, codec: Codec[..., object], method: Callable[..., object]) -> Work:
    decode, call, encode = codec.request_class.FromString, codec.call, codec.answer

    async def work(raw: bytes, context: Context) -> None:
        request = decode(raw)
        if row.lasts:
            lift()
        # The stream is closed even when the caller leaves halfway, so that its resources are free at once.
        async with aclosing(call(method, request)) as parts:
            async for part in parts:
                message = encode(part).SerializeToString()
                try:
                    async with asyncio.timeout(READ_LIMIT_S):
                        await context.write(message)
                except TimeoutError as error:
                    raise ResourceExhausted("the client does not read what it asked for; call again") from error

    return work
