"""The SERVER span of a request, and the caller's trace context for whatever the request calls.

The ready-made ASGI instrumentation does more than the contract asks for, to requests that nobody traces too; here an
untraced request costs one look at its `traceparent`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, TypeAlias

from opentelemetry import context, trace
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from shop.platform.error_table import ERROR_TABLE
from shop.platform.injected_delay import pause
from shop.platform.telemetry import tracer

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

_PROPAGATOR = TraceContextTextMapPropagator()
_SERVER_FAULTS = frozenset(code.value for code, entry in ERROR_TABLE.items() if entry.http >= 500)


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
        carrier = _carrier(scope)
        if carrier is None:
            await self._delayed(scope, receive, send)
            return
        parent = _PROPAGATOR.extract(carrier)
        token = context.attach(parent)
        try:
            if trace.get_current_span(parent).get_span_context().trace_flags.sampled:
                await self._in_span(scope, receive, send)
            else:
                await self._delayed(scope, receive, send)
        finally:
            context.detach(token)

    async def _in_span(self, scope: Scope, receive: Receive, send: Send) -> None:
        attributes = {
            "http.request.method": scope["method"],
            "http.route": self._route,
            "url.path": scope["path"],
            "url.scheme": scope.get("scheme", "http"),
            "network.protocol.version": scope.get("http_version", "1.1"),
        }
        name = f"{scope['method']} {self._route}"
        with tracer().start_as_current_span(name, kind=SpanKind.SERVER, attributes=attributes) as span:

            async def noting_status(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                    if message["status"] >= 500:
                        span.set_status(Status(StatusCode.ERROR))
                await send(message)

            await self._delayed(scope, receive, noting_status)

    async def _delayed(self, scope: Scope, receive: Receive, send: Send) -> None:
        await pause()
        await self._app(scope, receive, send)


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
    """Records on the request's span the error of its answer, since its HTTP status does not tell.

    Args:
        code: The first error's code.
    """
    span = trace.get_current_span()
    if span.is_recording():
        span.set_attribute("error.type", code)
        if code in _SERVER_FAULTS:
            span.set_status(Status(StatusCode.ERROR))


def _carrier(scope: Mapping[str, Any]) -> dict[str, str] | None:
    carrier = {}
    for name, value in scope["headers"]:
        if name in (b"traceparent", b"tracestate"):
            carrier[name.decode("latin-1")] = value.decode("latin-1")
    return carrier if "traceparent" in carrier else None
