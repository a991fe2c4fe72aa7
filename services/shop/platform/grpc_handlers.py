"""Wraps every method of a gRPC server: its span, the caller's deadline, its errors.

One wrapper does all three, made once per method, because each layer of interceptors costs every call. It also decodes
and encodes the messages, so that this time lies inside the SERVER span and a message that cannot be decoded is the
caller's error. opentelemetry-instrumentation-grpc is not used: its server side does not see a rich status
(`abort_with_status` leaves its span at OK), its client side never ends the span of a call that is cancelled, and both
build their attributes for calls that are not traced too.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import Any, TypeAlias, cast

import grpc
from google.protobuf.message import DecodeError
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from shop.errors import DeadlineExceeded, Internal, InvalidArgument, ShopError
from shop.platform.access import Access, Authenticator, access_of
from shop.platform.backstop import Backstop
from shop.platform.deadline import DEADLINE, DEADLINE_HEADER, LONGEST_S, backstop_s, caller_timeout_s, passed, work_s
from shop.platform.error_table import row
from shop.platform.grpc_errors import status_of
from shop.platform.injected_delay import pause
from shop.platform.telemetry import tracer

log = logging.getLogger(__name__)

_SERVER_FAULTS = frozenset(
    {
        grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.UNIMPLEMENTED,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DATA_LOSS,
    }
)
_TRACE_CONTEXT = TraceContextTextMapPropagator()
# gRPC's own count of how often the client tried before.
_ATTEMPTS = "grpc-previous-rpc-attempts"
_CANCELLED = grpc.StatusCode.CANCELLED.value[0]

Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Metadata: TypeAlias = dict[str, str]


def guarded(handler: Handler, method: str, authenticator: Authenticator) -> Handler:
    """Wraps a method with its span, its deadline, its errors and the check of its caller.

    Args:
        handler: A unary or server-streaming method, as the generated code registers it.
        method: Its full name, "/shop.product.v1.ProductService/GetProduct".
        authenticator: Decides who is admitted.
    """
    attributes = call_attributes(method)
    if handler.response_streaming:
        return grpc.unary_stream_rpc_method_handler(_streaming(handler, attributes, authenticator))
    return grpc.unary_unary_rpc_method_handler(_unary(handler, attributes, authenticator))


def call_attributes(method: str) -> dict[str, str]:
    """Returns the span attributes of a call from the method's full name."""
    service, _, name = method.lstrip("/").partition("/")
    return {"rpc.system": "grpc", "rpc.service": service, "rpc.method": name}


def _unary(
    handler: Handler, attributes: dict[str, str], authenticator: Authenticator
) -> Callable[[bytes, Context], Awaitable[bytes]]:
    behaviour = cast(Callable[[Any, Context], Awaitable[Any]], handler.unary_unary)
    decode, encode = _coders(handler)
    access = access_of(behaviour)

    async def call(raw: bytes, context: Context) -> bytes:
        metadata = cast(Metadata, dict(context.invocation_metadata() or ()))
        waits = _take_deadline(context, metadata)
        with _server_span(metadata, attributes) as span:
            try:
                with Backstop(backstop_s(waits)):
                    await pause()
                    _admit(authenticator, access, metadata)
                    return encode(await behaviour(_decoded(decode, raw), context))
            except Exception as error:
                failure = _failure(error, span)
        return await context.abort_with_status(status_of(failure))

    return call


def _streaming(
    handler: Handler, attributes: dict[str, str], authenticator: Authenticator
) -> Callable[[bytes, Context], Awaitable[None]]:
    behaviour = cast(Callable[[Any, Context], AsyncGenerator[Any]], handler.unary_stream)
    decode, encode = _coders(handler)
    access = access_of(behaviour)

    async def call(raw: bytes, context: Context) -> None:
        metadata = cast(Metadata, dict(context.invocation_metadata() or ()))
        waits = _take_deadline(context, metadata)
        with _server_span(metadata, attributes) as span:
            try:
                with Backstop(backstop_s(waits)):
                    await pause()
                    _admit(authenticator, access, metadata)
                    async with aclosing(behaviour(_decoded(decode, raw), context)) as messages:
                        async for message in messages:
                            await context.write(encode(message))
                return
            except Exception as error:
                failure = _failure(error, span)
        await context.abort_with_status(status_of(failure))

    return call


def _coders(handler: Handler) -> tuple[Callable[[bytes], Any], Callable[[Any], bytes]]:
    decode, encode = handler.request_deserializer, handler.response_serializer
    if decode is None or encode is None:
        raise ValueError("a method needs a request deserializer and a response serializer")
    return decode, encode


def _decoded(decode: Callable[[bytes], Any], raw: bytes) -> Any:
    try:
        return decode(raw)
    except DecodeError as error:
        raise InvalidArgument("the request is not a message of this method's type") from error


def _admit(authenticator: Authenticator, access: Access, metadata: Metadata) -> None:
    authenticator.admit(access, metadata.get("authorization"), metadata.get(authenticator.origin_header))


def _take_deadline(context: Context, metadata: Metadata) -> float:
    """Sets the deadline of a call; returns how long its caller, or the edge in front of it, waits."""
    left = context.time_remaining()
    waits = LONGEST_S if left is None else left
    if DEADLINE_HEADER in metadata:
        waits = min(waits, caller_timeout_s(metadata[DEADLINE_HEADER]))
    # Each call runs in a task of its own, so what is set here ends with it.
    DEADLINE.set(time.monotonic() + work_s(waits))
    return waits


@contextmanager
def _server_span(carrier: Metadata, attributes: dict[str, str]) -> Iterator[Span]:
    """Opens the SERVER span of a call that its caller samples; otherwise only passes the caller's decision on."""
    if "traceparent" not in carrier:
        yield trace.INVALID_SPAN
        return
    parent = _TRACE_CONTEXT.extract(carrier)
    remote = trace.get_current_span(parent)
    if not remote.get_span_context().trace_flags.sampled:
        otel_context.attach(parent)
        yield remote
        return
    name = f"{attributes['rpc.service']}/{attributes['rpc.method']}"
    span = tracer().start_span(name, parent, SpanKind.SERVER, attributes)
    if _ATTEMPTS in carrier:
        span.set_attribute("shop.rpc.previous_attempts", int(carrier[_ATTEMPTS]))
    otel_context.attach(trace.set_span_in_context(span, parent))
    ended_with = _CANCELLED
    try:
        yield span
        ended_with = grpc.StatusCode.OK.value[0]
    finally:
        if not _has_failed(span):
            span.set_attribute("rpc.grpc.status_code", ended_with)
        span.end()


def _has_failed(span: Span) -> bool:
    return "rpc.grpc.status_code" in (getattr(span, "attributes", None) or {})


def _failure(error: Exception, span: Span) -> ShopError:
    """Returns the error for the client, and records it in the span; an unknown cause goes to the log only."""
    if isinstance(error, ShopError):
        failure = error
        if error.__cause__ is not None and row(error).grpc in _SERVER_FAULTS:
            log.warning("%s: %s", error.code.value, error.message, exc_info=error)
    elif isinstance(error, TimeoutError) and passed():
        failure = DeadlineExceeded("the deadline of the request has passed; allow it more time")
    else:
        log.error("unexpected error", exc_info=error)
        failure = Internal("internal error")
    if span.is_recording():
        code = row(failure).grpc
        span.set_attribute("rpc.grpc.status_code", code.value[0])
        span.set_attribute("error.type", failure.code.value)
        if code in _SERVER_FAULTS:
            span.set_status(Status(StatusCode.ERROR, failure.message))
    return failure
