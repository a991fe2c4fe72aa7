"""Traces: who decides whether to sample, and which spans are the parents of a request's spans.

The root of a trace, outside these processes, decides whether to sample. Everything here follows its parent, and a
request without a sampled parent leaves no span at all. Such a request must also cost next to nothing. A recorder
(`shop.platform.telemetry.recorder`) makes the spans.

A process has one `Spans`. The context of a traced request holds it next to the current span, so that functions
deep inside can record children of that span.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import Token
from dataclasses import dataclass
from types import TracebackType
from typing import TypeAlias, cast

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, NonRecordingSpan, Span, SpanContext, StatusCode

from shop.platform.telemetry.recorder import INTERNAL, Attributes, Parent, SharedAttributes, Tracing, shared_attributes
from shop.platform.telemetry.trace_context import traceparent

UNTRACED = nullcontext(INVALID_SPAN)
"""The context manager for work that is not traced, where traced work has a span."""

MAX_VALUE = 1_000
"""Number of characters that a span keeps of a text that a client chose, such as a path."""

_SPANS = otel_context.create_key("shop.spans")

NoteMoment: TypeAlias = Callable[[Span | None], None]


def _do_nothing(*_: object, **__: object) -> None: ...


class Spans:
    """Records the spans of a process.

    Args:
        tracing: Records spans, by `start` and `note`; None where nothing is traced.
        note_moment: For observers of the event loop. Called when a request arrives, when it is answered, and before
            each call that it makes, traced or not. Its argument is the SERVER span that begins, or the CLIENT span
            whose answer has been read; else None.
    """

    def __init__(self, tracing: Tracing | None = None, note_moment: NoteMoment = _do_nothing) -> None:
        self.start: Callable[..., Span | None] = _do_nothing if tracing is None else tracing.start
        self.note: Callable[..., None] = _do_nothing if tracing is None else tracing.note
        self.note_moment = note_moment
        self._context = otel_context.set_value(_SPANS, self, Context())

    def enter(self, span: Span) -> Token[Context]:
        """Makes a span the current span, whose children this object records; returns the token that detaches it."""
        return otel_context.attach(trace.set_span_in_context(span, self._context))

    @contextmanager
    def below(self, parent: SpanContext) -> Iterator[None]:
        """Makes the spans of everything inside the context children of a span of another process."""
        token = otel_context.attach(trace.set_span_in_context(NonRecordingSpan(parent), self._context))
        try:
            yield
        finally:
            otel_context.detach(token)


def sampled_parent() -> Parent | None:
    """Returns the parent of the current request's spans; None if the request is not traced."""
    span = trace.get_current_span()
    if span.is_recording():
        return span
    context = span.get_span_context()
    return context if context.trace_flags.sampled else None


def sampled_traceparent() -> str | None:
    """Returns the trace context of the current request (W3C); None if it is not traced."""
    parent = sampled_parent()
    if parent is None:
        return None
    return traceparent(parent if isinstance(parent, SpanContext) else parent.get_span_context())


def begin(name: str, kind: int, attributes: Attributes = None, shared: SharedAttributes = ()) -> Span | None:
    """Starts a child of the current span, which does not become the current one; arguments as for `Tracing.start`.

    Returns None if the request is not traced, or this process records nothing.
    """
    parent = sampled_parent()
    spans = None if parent is None else _current_spans()
    return None if spans is None else spans.start(name, kind, parent, attributes, shared)


def note(
    name: str,
    kind: int,
    parent: Parent,
    start: int,
    attributes: SharedAttributes = (),
    error: BaseException | None = None,
) -> None:
    """Records a child of the current span that ends now, if this process records spans; see `Tracing.note`."""
    spans = _current_spans()
    if spans is not None:
        spans.note(name, kind, parent, start, attributes, error)


def child_span(name: str) -> AbstractContextManager[Span]:
    """Opens a child of the current span if the request is traced; otherwise does nothing, at almost no cost."""
    span = begin(name, INTERNAL)
    return UNTRACED if span is None else Current(span)


@dataclass(frozen=True, slots=True)
class TracedMethod:
    """The name and attributes of a remote method's spans, at both ends: "shop.product.v1.ProductService/GetProduct"."""

    name: str
    attributes: SharedAttributes

    @classmethod
    def of(cls, attributes: Mapping[str, str | int]) -> TracedMethod:
        """Returns the method whose spans have these attributes, which include `rpc.service` and `rpc.method`."""
        return cls(f"{attributes['rpc.service']}/{attributes['rpc.method']}", shared_attributes(attributes))


class Ending:
    """A `with` block that ends a span, and records on it what ended the block early.

    It records only the class of an error: the message and the stack, which OpenTelemetry would also record, can contain
    personal data.
    """

    __slots__ = ("_span",)

    def __init__(self, span: Span) -> None:
        self._span = span

    def __enter__(self) -> Span:
        return self._span

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        if error is not None:
            self._span.set_attribute("error.type", type(error).__qualname__)
            self._span.set_status(StatusCode.ERROR)
        self._span.end()


class Current(Ending):
    """An `Ending` whose span is the current one inside the block."""

    __slots__ = ("_token",)

    def __enter__(self) -> Span:
        self._token = otel_context.attach(trace.set_span_in_context(self._span))
        return self._span

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        otel_context.detach(self._token)
        super().__exit__(kind, error, stack)


def _current_spans() -> Spans | None:
    return cast("Spans | None", otel_context.get_value(_SPANS))
