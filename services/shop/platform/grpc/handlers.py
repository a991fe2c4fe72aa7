"""Wraps every method of a gRPC server: its span, the caller's deadline, its errors.

One wrapper does all three, made once per method, because each layer of interceptors costs every call. It also decodes
and encodes the messages, so that this time lies inside the SERVER span and a message that cannot be decoded is the
caller's error.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, TypeAlias, cast

import grpc
from google.protobuf.message import DecodeError
from opentelemetry.trace import Span, StatusCode

from shop.contract.calls import Access
from shop.errors import Internal, InvalidArgument, ResourceExhausted, ShopError
from shop.platform.admission import PRIORITY
from shop.platform.config import EDGE_MARK
from shop.platform.deadline import DEADLINE_HEADER, caller_limit, caller_timeout_s
from shop.platform.errors import row
from shop.platform.grpc.errors import status_of
from shop.platform.grpc.tracing import TRACEPARENT, Metadata, TracedMethod, end, server_span
from shop.platform.incoming import Incoming
from shop.platform.telemetry.metering import begin_request

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
Work: TypeAlias = Callable[[bytes, Context], Awaitable[bytes | None]]
"""Answers a call whose caller is admitted: with its message, or with None once all messages of a stream are written."""


READ_LIMIT_S = 20.0
"""How long a client may take to make room for the next message of a stream, in seconds."""


def guarded(handler: Handler, method: str, access: Access, incoming: Incoming) -> Handler:
    """Wraps a method with its span, its deadline, its errors and the check of its caller.

    Args:
        handler: A unary or server-streaming method.
        method: Its full name, "/shop.product.v1.ProductService/GetProduct".
        access: The callers whom it admits.
        incoming: Decides who is admitted, and traces, measures, refuses and delays calls.
    """
    work = _streaming(handler) if handler.response_streaming else _unary(handler)
    traced = TracedMethod.of(method)
    admit, origin, runtime = incoming.authenticator.admit, incoming.authenticator.origin_header, incoming.runtime
    note_busy = runtime.spans.note_busy

    async def answer(_: object, context: Context) -> bytes | None:
        # Taken here, as grpc.aio leaves a unary call without a message, or with half of one, without an answer as well.
        raw: object = await context.read()
        metadata: Metadata = dict(context.invocation_metadata() or ())  # type: ignore[arg-type]
        request = begin_request(metadata.get(TRACEPARENT)) if runtime.meters else None
        ended = grpc.StatusCode.CANCELLED
        span = server_span(metadata, traced, runtime.spans) if TRACEPARENT in metadata else None
        note_busy(span)
        try:
            async with caller_limit(_waits(context, metadata)):
                if runtime.admission is not None and EDGE_MARK in metadata:
                    runtime.admission.admit(metadata.get(PRIORITY))
                for delay in runtime.delays:
                    await delay.pause()
                admit(access, metadata.get("authorization"), metadata.get(origin))
                if not isinstance(raw, bytes):
                    raise InvalidArgument("the call has no message, or not a whole one")
                message = await work(raw, context)
            ended = grpc.StatusCode.OK
            if span is not None:
                end(span)
            return message
        except Exception as error:
            failure = _failure(error, span)
            ended = row(failure).grpc
        except BaseException:
            if span is not None:
                end(span, grpc.StatusCode.CANCELLED)
            raise
        finally:
            note_busy()
            if request is not None and runtime.meters is not None:
                error_type = ended.name if ended in _SERVER_FAULTS else ""
                values = ("grpc", traced.name, ended.name, error_type)
                runtime.meters.rpc_server.note(values, request.seconds, request.trace_id)
        return await context.abort_with_status(status_of(failure))

    if handler.response_streaming:
        return grpc.stream_stream_rpc_method_handler(answer)
    return grpc.stream_unary_rpc_method_handler(answer)


def _unary(handler: Handler) -> Work:
    behaviour = cast(Callable[[Any, Context], Awaitable[Any]], handler.unary_unary)
    decode, encode = _coders(handler)

    async def work(raw: bytes, context: Context) -> bytes:
        return encode(await behaviour(decode(raw), context))

    return work


def _streaming(handler: Handler) -> Work:
    behaviour = cast(Callable[[Any, Context], AsyncGenerator[Any]], handler.unary_stream)
    decode, encode = _coders(handler)

    async def work(raw: bytes, context: Context) -> None:
        async with aclosing(behaviour(decode(raw), context)) as messages:
            async for message in messages:
                try:
                    async with asyncio.timeout(READ_LIMIT_S):
                        await context.write(encode(message))
                except TimeoutError as error:
                    raise ResourceExhausted("the client does not read what it asked for; call again") from error

    return work


def _coders(handler: Handler) -> tuple[Callable[[bytes], Any], Callable[[Any], bytes]]:
    decode, encode = handler.request_deserializer, handler.response_serializer
    if decode is None or encode is None:
        raise ValueError("a method needs a request deserializer and a response serializer")
    return decode, encode


def _waits(context: Context, metadata: Metadata) -> float | None:
    """Returns how long the caller of a call, or the edge in front of it, waits, in seconds; None if neither says."""
    left = context.time_remaining()
    if DEADLINE_HEADER not in metadata:
        return left
    edge = caller_timeout_s(metadata[DEADLINE_HEADER])
    return edge if left is None else min(left, edge)


def _failure(error: Exception, span: Span | None) -> ShopError:
    """Returns the error for the client, and ends the span with it; an unknown cause goes to the log only."""
    if isinstance(error, ShopError):
        failure = error
        if error.__cause__ is not None and row(error).grpc in _SERVER_FAULTS:
            log.warning("%s: %s", error.code.value, error.message, exc_info=error)
    elif isinstance(error, DecodeError):
        failure = InvalidArgument("the request is not a message of this method's type")
    else:
        log.error("unexpected error", exc_info=error)
        failure = Internal("internal error")
    if span is not None:
        code = row(failure).grpc
        span.set_attribute("error.type", failure.code.value)
        if code in _SERVER_FAULTS:
            span.set_status(StatusCode.ERROR, failure.message)
        end(span, code)
    return failure
