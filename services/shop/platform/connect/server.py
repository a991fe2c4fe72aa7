"""Serves a service's calls over Connect, from the same table and through the same sequence of steps as gRPC.

The library implements the protocol. It passes messages on as bytes, so that the SERVER span includes the time to decode
them. A message that cannot be decoded is refused with an error of the shop.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, nullcontext
from typing import NamedTuple, TypeAlias, TypeVar

from connectrpc.code import Code
from connectrpc.compression.gzip import GzipCompression
from connectrpc.errors import ConnectError, ErrorDetail
from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
from connectrpc.request import RequestContext
from connectrpc.server import ConnectASGIApplication, Endpoint
from google.protobuf.json_format import MessageToJson, Parse, ParseError
from google.protobuf.message import DecodeError, Message
from opentelemetry.trace import Span
from protobuf.wkt import Any as Packed
from starlette.types import ASGIApp, Receive, Scope, Send

from shop.contract.calls import Access, Call, Service
from shop.contract.wire import Codec, protobuf_codec
from shop.errors import InvalidArgument, ShopError
from shop.platform.access.rules import Authenticator
from shop.platform.deadline import begin, work_s
from shop.platform.error_codes import SERVER_FAULTS, row
from shop.platform.grpc.status import details_of
from shop.platform.http.body import MAX_BYTES
from shop.platform.incoming import Around, Incoming, Request, failure_of
from shop.platform.read_mask import answering
from shop.platform.rest.answers import Answer
from shop.platform.telemetry.metering import MeasuredRequest
from shop.platform.telemetry.meters import Meters
from shop.platform.telemetry.recorder import Attributes, SharedAttributes
from shop.platform.telemetry.tracing import TracedMethod

SYSTEM = "connect_rpc"
"""OpenTelemetry's name for Connect."""
JSON = "json"
GRPC = b"application/grpc"
"""Prefix of the media types of gRPC and gRPC-Web, which the edge translates for services that serve gRPC."""

T = TypeVar("T")


class EncodedMessage(NamedTuple):
    encoding: str
    data: bytes


class _AsBytes:
    """Passes messages on as bytes."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding

    def name(self) -> str:
        return self._encoding

    def encode(self, message: bytes) -> bytes:
        return message

    def decode(self, data: bytes | bytearray, message_class: type[EncodedMessage]) -> EncodedMessage:
        return message_class(self._encoding, bytes(data))


Context: TypeAlias = RequestContext[EncodedMessage, bytes]


class _Method(NamedTuple):
    traced: TracedMethod
    access: Access
    authenticator: Authenticator
    codec: Codec[..., object]
    use_case: Callable[..., object]
    answer: Callable[[object], Awaitable[Message]]
    around: Around

    def decode(self, message: EncodedMessage) -> object:
        request_class = self.codec.request_class
        try:
            if message.encoding == JSON:
                return Parse(message.data, request_class(), ignore_unknown_fields=True)
            return request_class.FromString(message.data)
        except (DecodeError, ParseError, UnicodeDecodeError):
            raise InvalidArgument("the request is not a message of this method's type") from None

    def encode(self, message: Message, encoding: str) -> bytes:
        return MessageToJson(message, indent=None).encode() if encoding == JSON else message.SerializeToString()


class _ConnectRequest(Request[T]):
    __slots__ = ("_context", "_headers", "_message", "_method", "refusal")

    def __init__(self, method: _Method, message: EncodedMessage, context: Context) -> None:
        self._method = method
        self._message = message
        self._context = context
        self._headers = dict(context.request_headers.allitems())
        self.refusal: ShopError | None = None

    def header(self, name: str) -> str | None:
        return self._headers.get(name)

    def waits(self) -> float | None:
        edge, left_ms = super().waits(), self._context.timeout_ms
        left = None if left_ms is None else left_ms / 1000
        return edge if left is None else left if edge is None else min(left, edge)

    def describe_span(self) -> tuple[str, Attributes, SharedAttributes]:
        traced = self._method.traced
        return traced.name, None, traced.attributes

    def end_span(self, span: Span, error: BaseException | None) -> None:
        super().end_span(span, error)
        if code := _code(error):
            span.set_attribute("rpc.connect_rpc.error_code", code)

    def measure(self, meters: Meters, asked: MeasuredRequest, error: BaseException | None) -> None:
        code = _code(error).upper() or "OK"
        fault = code if isinstance(error, ShopError) and error.code in SERVER_FAULTS else ""
        meters.rpc_server.note((SYSTEM, self._method.traced.name, code, fault), asked.seconds, asked.trace_id)

    def admit(self) -> object:
        """Returns the request's message once the caller is admitted."""
        authenticator = self._method.authenticator
        authenticator.admit(self._method.access, self.header("authorization"), self.header(authenticator.origin_header))
        return self._method.decode(self._message)


class _Unary(_ConnectRequest["bytes"]):
    __slots__ = ()

    async def work(self) -> bytes:
        method, asked = self._method, self.admit()
        with method.around(self._headers):
            return method.encode(await method.answer(asked), self._message.encoding)

    async def refuse(self, error: ShopError) -> bytes:
        self.refusal = error
        return b""


class _Stream(_ConnectRequest["AsyncGenerator[bytes]"]):
    __slots__ = ()

    async def work(self) -> AsyncGenerator[bytes]:
        return self._parts(self.admit())

    async def refuse(self, error: ShopError) -> AsyncGenerator[bytes]:
        return _raise(error)

    async def _parts(self, asked: object) -> AsyncGenerator[bytes]:
        method, waits = self._method, self.waits()
        begin(None if waits is None else work_s(waits))
        # The stream is closed even when the caller leaves halfway, so that its resources are free at once.
        async with aclosing(method.codec.call(method.use_case, asked)) as parts:
            try:
                async for part in parts:
                    yield method.encode(method.codec.answer(part), self._message.encoding)
            except Exception as error:
                raise failure_of(error) from None


async def _raise(error: ShopError) -> AsyncGenerator[bytes]:
    raise error
    yield b""


def _code(error: BaseException | None) -> str:
    """Returns the code with which a call ended: empty for success, "canceled" if its caller has left."""
    if isinstance(error, ShopError):
        return str(Code[row(error).grpc].value)
    return "" if error is None else str(Code.CANCELED.value)


def _wire_error(error: ShopError) -> ConnectError:
    packed = [Packed(type_url=detail.type_url, value=detail.value) for detail in details_of(error)]
    return ConnectError(Code[row(error).grpc], error.message, [ErrorDetail(detail) for detail in packed])


def connect_app(
    service: Service[object],
    use_cases: object,
    incoming: Incoming,
    around: Mapping[str, Around] | None = None,
    *,
    compresses: bool = False,
) -> ASGIApp:
    """Returns the application; `around` is as in `Offer`, and clients that accept gzip get it if it `compresses`."""
    surrounds = around or {}
    endpoints = {
        f"/{service.full_name}/{call.name}": _endpoint(call, service, use_cases, incoming, surrounds.get(call.name))
        for call in service.calls
        if not call.lasts
    }
    return _guard(_App(service, endpoints, compresses=compresses))


class _App(ConnectASGIApplication[None]):
    def __init__(
        self, service: Service[object], endpoints: Mapping[str, Endpoint[EncodedMessage, bytes]], *, compresses: bool
    ) -> None:
        self._path = f"/{service.full_name}"
        super().__init__(
            service=None,
            endpoints=lambda _: endpoints,  # type: ignore[arg-type, return-value] # its own classes have no public names
            read_max_bytes=MAX_BYTES,
            compressions=[GzipCompression()] if compresses else [],
            codecs=[_AsBytes("proto"), _AsBytes(JSON)],
        )

    @property
    def path(self) -> str:
        return self._path


def _endpoint(
    call: Call[..., object], service: Service[object], use_cases: object, incoming: Incoming, around: Around | None
) -> Endpoint[EncodedMessage, bytes]:
    codec, use_case = protobuf_codec(call), getattr(use_cases, call.port)
    method = _Method(
        TracedMethod.of({"rpc.system": SYSTEM, "rpc.service": service.full_name, "rpc.method": call.name}),
        call.access,
        incoming.authenticator,
        codec,
        use_case,
        answering(codec, use_case),
        around or (lambda _: nullcontext()),
    )
    info = MethodInfo(
        name=call.name,
        service_name=service.full_name,
        input=EncodedMessage,
        output=bytes,
        idempotency_level=IdempotencyLevel.NO_SIDE_EFFECTS if call.reads else IdempotencyLevel.UNKNOWN,
        stream_type=StreamType.SERVER_STREAM if call.streams else StreamType.UNARY,
    )

    async def answer(message: EncodedMessage, context: Context) -> bytes:
        context.response_headers["cache-control"] = "no-store"
        request = _Unary(method, message, context)
        answered = await incoming.answer(request)
        if request.refusal is not None:
            raise _wire_error(request.refusal)
        return answered

    async def stream(message: EncodedMessage, context: Context) -> AsyncIterator[bytes]:
        context.response_headers["cache-control"] = "no-store"
        async with aclosing(incoming.follow(_Stream(method, message, context))) as parts:
            try:
                async for part in parts:
                    yield part
            except ShopError as error:
                raise _wire_error(error) from None

    return Endpoint.server_stream(info, stream) if call.streams else Endpoint.unary(info, answer)


def _guard(app: ConnectASGIApplication[None]) -> ASGIApp:
    """Returns the application behind answers to requests that the library would answer with INTERNAL."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        if any(name == b"content-type" and value.lower().startswith(GRPC) for name, value in headers):
            await Answer(415, b"", [(b"accept-post", b"application/json, application/proto")])(scope, receive, send)
            return
        # The library reads headers and queries as UTF-8; everything else here reads them as Latin-1.
        query: bytes = scope["query_string"]
        read = {
            "headers": [(name, value.decode("latin-1").encode()) for name, value in headers],
            "query_string": query.decode("latin-1").encode(),
        }
        await app({**scope, **read}, receive, send)

    return answer
