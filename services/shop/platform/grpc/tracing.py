"""The spans of gRPC calls, of either side.

opentelemetry-instrumentation-grpc is not used: its server side does not see a rich status (`abort_with_status` leaves
its span at OK), its client side never ends the span of a call that is cancelled, and both build their attributes for
calls that are not traced too.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeAlias

import grpc
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import Span, StatusCode

from shop.instrument.tracing import CLIENT, SERVER, SharedAttributes, shared
from shop.platform.telemetry.metering import METERS, note_since
from shop.platform.telemetry.trace_context import UNTRACED_CALLER, sampled_caller, trace_headers
from shop.platform.telemetry.tracing import begin, note_busy, sampled_parent

Metadata: TypeAlias = dict[str, str]

TRACEPARENT = "traceparent"
"""The metadata with the trace context of a call."""

_STATUS = "rpc.grpc.status_code"
# gRPC's own count of how often the client tried before.
_ATTEMPTS = "grpc-previous-rpc-attempts"


@dataclass(frozen=True, slots=True)
class TracedMethod:
    """What the spans of a method's calls have in common."""

    name: str
    attributes: SharedAttributes

    @classmethod
    def of(cls, method: str, more: Mapping[str, str | int] | None = None) -> TracedMethod:
        """Returns it for a method.

        Args:
            method: Its full name, "/shop.product.v1.ProductService/GetProduct".
            more: Further attributes.
        """
        service, _, name = method.lstrip("/").partition("/")
        attributes = {"rpc.system": "grpc", "rpc.service": service, "rpc.method": name}
        return cls(f"{service}/{name}", shared(attributes | dict(more or {})))


def server_span(metadata: Metadata, method: TracedMethod) -> Span | None:
    """Opens the SERVER span of a call that its caller samples; otherwise only passes the caller's decision on.

    Each call runs in a task of its own, so what is set here ends with it.

    Args:
        metadata: What the caller sent along, `TRACEPARENT` among it.
        method: The method that is called.

    Returns:
        The span, now the current one; None if the call is not traced.
    """
    caller = sampled_caller(metadata[TRACEPARENT], metadata.get("tracestate", ""))
    span = begin(method.name, SERVER, caller, None, method.attributes)
    if span is None:
        UNTRACED_CALLER.set(metadata)
        return None
    otel_context.attach(trace.set_span_in_context(span))
    if _ATTEMPTS in metadata:
        span.set_attribute("shop.rpc.previous_attempts", int(metadata[_ATTEMPTS]))
    return span


def end(span: Span, code: grpc.StatusCode = grpc.StatusCode.OK) -> None:
    """Ends the SERVER span of a call.

    Args:
        span: The span.
        code: What the call ended with; CANCELLED if nobody waits for it any more.
    """
    span.set_attribute(_STATUS, code.value[0])
    span.end()


class ClientSpan:
    """The CLIENT span of a call, which ends with the `with` block.

    It is not made the current one: nothing else happens below it in this process.
    """

    __slots__ = ("_code", "_span")

    def __init__(self, span: Span) -> None:
        self._span = span
        self._code: grpc.StatusCode | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        code = grpc.StatusCode.OK
        note_busy(self._span)
        if error is not None:
            self._span.set_attribute("error.type", type(error).__qualname__)
            # Any error but a failure that is noted ended the call from this side.
            code = self._code or grpc.StatusCode.CANCELLED
        end(self._span, code)

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What tells the callee of the trace."""
        return tuple(trace_headers(self._span).items())

    def failed(self, code: grpc.StatusCode) -> None:
        """Records the status that the callee, or gRPC in its place, ended the call with."""
        self._code = code
        self._span.set_status(StatusCode.ERROR, code.name)


@dataclass(frozen=True, slots=True)
class Untraced:
    """In place of the span of a call that is not traced."""

    metadata: tuple[tuple[str, str], ...]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def failed(self, code: grpc.StatusCode) -> None:
        """Does nothing."""


class Measured:
    """The time of a call, around its span."""

    __slots__ = ("_began", "_call", "_code", "_method")

    def __init__(self, call: ClientSpan | Untraced, method: TracedMethod) -> None:
        self._call = call
        self._method = method.name
        self._code: grpc.StatusCode | None = None

    def __enter__(self) -> Self:
        self._began = time.perf_counter()
        self._call.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        self._call.__exit__(kind, error, stack)
        code = "OK" if error is None else (self._code or grpc.StatusCode.CANCELLED).name
        values = ("grpc", self._method, code, "" if error is None else code)
        note_since(METERS[0].rpc_client, values, self._began)

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What tells the callee of the trace."""
        return self._call.metadata

    def failed(self, code: grpc.StatusCode) -> None:
        """Records the status that the callee, or gRPC in its place, ended the call with."""
        self._code = code
        self._call.failed(code)


def client_span(method: TracedMethod) -> ClientSpan | Untraced | Measured:
    """Opens the CLIENT span of a call, if the request in hand is traced.

    Returns:
        What gives the metadata that tells the callee.
    """
    note_busy()
    span = begin(method.name, CLIENT, sampled_parent(), None, method.attributes)
    call = Untraced(tuple(trace_headers(None).items())) if span is None else ClientSpan(span)
    return Measured(call, method) if METERS else call
