"""The SERVER span of a request, and the caller's trace context for whatever the request calls.

The ready-made ASGI instrumentation does more than the contract asks for, to requests that nobody traces too; here an
untraced request costs one look at its `traceparent`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, TypeAlias

from opentelemetry import trace
from opentelemetry.trace import INVALID_SPAN_CONTEXT, NonRecordingSpan, Span, SpanContext, StatusCode

from shop.instrument.tracing import SERVER
from shop.platform.errors import SERVER_FAULTS
from shop.platform.process.injected_delay import pause
from shop.platform.telemetry.metering import METERS, tell
from shop.platform.telemetry.trace_context import caller_of
from shop.platform.telemetry.tracing import Current, begin, note_busy

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

_TRACE_CONTEXT = (b"traceparent", b"tracestate")
_SERVER_FAULTS = frozenset(code.value for code in SERVER_FAULTS)


class Traced:
    """An application whose requests leave a SERVER span each, where their caller traces them.

    Args:
        app: The application.
        route: The path whose requests are traced.
    """

    def __init__(self, app: App, route: str) -> None:
        self._app = app
        self._route = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        if scope["type"] != "http" or scope["path"] != self._route:
            await self._app(scope, receive, send)
            return
        if METERS:
            tell(route=self._route)
        caller = _caller(scope)
        if not caller.is_valid:
            await self._delayed(scope, receive, send)
            return
        span = self._span(scope, caller)
        if span is None:
            with trace.use_span(NonRecordingSpan(caller)):
                await self._delayed(scope, receive, send)
            return
        with Current(span):

            async def noting_status(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                    if message["status"] >= 500:
                        span.set_status(StatusCode.ERROR)
                await send(message)

            await self._delayed(scope, receive, noting_status)

    def _span(self, scope: Scope, caller: SpanContext) -> Span | None:
        if not caller.trace_flags.sampled:
            return None
        attributes = {
            "http.request.method": scope["method"],
            "http.route": self._route,
            "url.path": scope["path"],
            "url.scheme": scope.get("scheme", "http"),
            "network.protocol.version": scope.get("http_version", "1.1"),
        }
        return begin(f"{scope['method']} {self._route}", SERVER, caller, attributes)

    async def _delayed(self, scope: Scope, receive: Receive, send: Send) -> None:
        note_busy(trace.get_current_span())
        try:
            await pause()
            await self._app(scope, receive, send)
        finally:
            note_busy()


def name_operation(kind: str, name: str) -> None:
    """Records on the request's span which GraphQL operation it runs.

    Args:
        kind: "query" or "mutation".
        name: The operation's name; empty if it has none.
    """
    span = trace.get_current_span()
    if span.is_recording():
        span.set_attribute("graphql.operation.type", kind)
        if name:
            span.set_attribute("graphql.operation.name", name[:100])


def note_error(code: str) -> None:
    """Records on the request's span the error of its answer, since its HTTP status does not tell."""
    if code in _SERVER_FAULTS:
        tell(error=code)
    span = trace.get_current_span()
    if span.is_recording():
        span.set_attribute("error.type", code)
        if code in _SERVER_FAULTS:
            span.set_status(StatusCode.ERROR)


def _caller(scope: Mapping[str, Any]) -> SpanContext:
    sent = {name: value.decode("latin-1") for name, value in scope["headers"] if name in _TRACE_CONTEXT}
    return (
        caller_of(sent[b"traceparent"], sent.get(b"tracestate", "")) if b"traceparent" in sent else INVALID_SPAN_CONTEXT
    )
