"""The SERVER span of a REST request.

A request that is not sampled costs a look at one header: the OpenTelemetry ASGI middleware takes about 85 µs for
the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry import context, propagate, trace
from opentelemetry.trace import SpanKind, Status, StatusCode

from shop.platform.telemetry import tracer

_SAMPLED = 1


class ServerSpan:
    """Records a request in its span; does nothing if the request is not sampled.

    Args:
        span: The span; None for a request that is not sampled.
        method: The HTTP method.
    """

    def __init__(self, span: trace.Span | None, method: str = "") -> None:
        self._span = span
        self._method = method

    def answered(self, status: int, route: str) -> None:
        """Records the HTTP status of the answer, and the template of the route that gave it; empty if none did."""
        if self._span is None:
            return
        if route:
            self._span.update_name(f"{self._method} {route}")
            self._span.set_attribute("http.route", route)
        self._span.set_attribute("http.response.status_code", status)
        if status >= 500:
            self._span.set_attribute("error.type", str(status))
            self._span.set_status(Status(StatusCode.ERROR))


_SILENT = ServerSpan(None)


@contextmanager
def server_span(scope: Any) -> Iterator[ServerSpan]:
    """Opens the span of a request if its caller sampled it.

    Args:
        scope: The ASGI scope.

    Yields:
        What records the answer's status.
    """
    parent = _sampled_parent(scope["headers"])
    if parent is None:
        yield _SILENT
        return
    method = scope["method"]
    attributes = {
        "http.request.method": method,
        "url.path": scope["path"],
        "url.scheme": scope["scheme"],
        "network.protocol.version": scope["http_version"],
    }
    span = tracer().start_span(method, parent, kind=SpanKind.SERVER, attributes=attributes)
    token = context.attach(trace.set_span_in_context(span, parent))
    try:
        yield ServerSpan(span, method)
    finally:
        context.detach(token)
        span.end()


def _sampled_parent(headers: list[tuple[bytes, bytes]]) -> context.Context | None:
    carrier = {}
    for key, value in headers:
        if key == b"traceparent":
            if not _is_sampled(value):
                return None
            carrier["traceparent"] = value.decode("latin-1")
        elif key == b"tracestate":
            carrier["tracestate"] = value.decode("latin-1")
    return propagate.extract(carrier) if "traceparent" in carrier else None


def _is_sampled(traceparent: bytes) -> bool:
    """Reads the flags of "00-<32 hex>-<16 hex>-<2 hex>"; anything else is not sampled."""
    try:
        return bool(int(traceparent[53:55], 16) & _SAMPLED)
    except ValueError:
        return False
