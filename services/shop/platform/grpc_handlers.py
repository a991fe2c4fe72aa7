"""Wraps every method of a gRPC server: its span, the caller's deadline, its errors.

One wrapper does all three, made once per method, because each layer of interceptors costs every call. It also decodes
and encodes the messages, so that this time lies inside the SERVER span and a message that cannot be decoded is the
caller's error.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, TypeAlias, cast

import grpc
from google.protobuf.message import DecodeError
from opentelemetry.trace import Span, StatusCode

from shop.errors import Internal, InvalidArgument, ShopError
from shop.platform.access import Authenticator, access_of
from shop.platform.backstop import CallerLimit
from shop.platform.deadline import DEADLINE_HEADER, LONGEST_S, caller_timeout_s
from shop.platform.error_table import row
from shop.platform.grpc_errors import status_of
from shop.platform.grpc_tracing import Metadata, TracedMethod, server_span
from shop.platform.injected_delay import pause

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

Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


def guarded(handler: Handler, method: str, authenticator: Authenticator) -> Handler:
    """Wraps a method with its span, its deadline, its errors and the check of its caller.

    Args:
        handler: A unary or server-streaming method, as the generated code registers it.
        method: Its full name, "/shop.product.v1.ProductService/GetProduct".
        authenticator: Decides who is admitted.
    """
    traced = TracedMethod.of(method)
    if handler.response_streaming:
        return grpc.unary_stream_rpc_method_handler(_streaming(handler, traced, authenticator))
    return grpc.unary_unary_rpc_method_handler(_unary(handler, traced, authenticator))


def _unary(
    handler: Handler, traced: TracedMethod, authenticator: Authenticator
) -> Callable[[bytes, Context], Awaitable[bytes]]:
    behaviour = cast(Callable[[Any, Context], Awaitable[Any]], handler.unary_unary)
    decode, encode = _coders(handler)
    admit, access, origin = authenticator.admit, access_of(behaviour), authenticator.origin_header

    async def call(raw: bytes, context: Context) -> bytes:
        metadata = cast(Metadata, dict(context.invocation_metadata() or ()))
        limit = CallerLimit(_waits(context, metadata))
        with server_span(metadata, traced) as span:
            try:
                with limit:
                    await pause()
                    admit(access, metadata.get("authorization"), metadata.get(origin))
                    return encode(await behaviour(_decoded(decode, raw), context))
            except Exception as error:
                failure = _failure(error, span)
        return await context.abort_with_status(status_of(failure))

    return call


def _streaming(
    handler: Handler, traced: TracedMethod, authenticator: Authenticator
) -> Callable[[bytes, Context], Awaitable[None]]:
    behaviour = cast(Callable[[Any, Context], AsyncGenerator[Any]], handler.unary_stream)
    decode, encode = _coders(handler)
    admit, access, origin = authenticator.admit, access_of(behaviour), authenticator.origin_header

    async def call(raw: bytes, context: Context) -> None:
        metadata = cast(Metadata, dict(context.invocation_metadata() or ()))
        limit = CallerLimit(_waits(context, metadata))
        with server_span(metadata, traced) as span:
            try:
                with limit:
                    await pause()
                    admit(access, metadata.get("authorization"), metadata.get(origin))
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


def _waits(context: Context, metadata: Metadata) -> float:
    """Returns how long the caller of a call, or the edge in front of it, waits, in seconds."""
    left = context.time_remaining()
    waits = LONGEST_S if left is None else left
    if DEADLINE_HEADER in metadata:
        waits = min(waits, caller_timeout_s(metadata[DEADLINE_HEADER]))
    return waits


def _failure(error: Exception, span: Span) -> ShopError:
    """Returns the error for the client, and records it in the span; an unknown cause goes to the log only."""
    if isinstance(error, ShopError):
        failure = error
        if error.__cause__ is not None and row(error).grpc in _SERVER_FAULTS:
            log.warning("%s: %s", error.code.value, error.message, exc_info=error)
    else:
        log.error("unexpected error", exc_info=error)
        failure = Internal("internal error")
    if span.is_recording():
        code = row(failure).grpc
        span.set_attribute("rpc.grpc.status_code", code.value[0])
        span.set_attribute("error.type", failure.code.value)
        if code in _SERVER_FAULTS:
            span.set_status(StatusCode.ERROR, failure.message)
    return failure
