"""Traces: who samples, and what a request's spans go below.

The sampling decision is made at the root of a trace, outside these processes; everything here follows its
parent, and a request without a sampled parent leaves no span at all. Such a request must also cost next to
nothing. What records the spans is the instrument's business (`shop.instrument.tracing`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import TracebackType
from typing import TypeVar

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import INVALID_SPAN, Span, SpanContext, SpanKind, StatusCode

from shop.instrument.loop import BUSY, RESTED, LoopAccount
from shop.instrument.tracing import Attributes, Parent, SharedAttributes, Tracing
from shop.platform.telemetry.trace_context import traceparent

T = TypeVar("T", bound=Tracing)

UNTRACED = nullcontext(INVALID_SPAN)
"""What work that is not traced runs in, in place of a span."""

LONGEST_VALUE = 1_000
"""Characters that a span keeps of what a client chose, such as a path."""

_tracing: Tracing | None = None
_loop: LoopAccount | None = None


@contextmanager
def traced_by(tracing: T) -> Iterator[T]:
    """Has the spans of sampled requests recorded for as long as the context lasts.

    Args:
        tracing: Records them.
    """
    global _tracing, _loop
    before, _tracing, _loop = (_tracing, _loop), tracing, None
    try:
        yield tracing
    finally:
        _tracing, _loop = before


def sampled_parent() -> Parent | None:
    """Returns what spans of the current request go below; None if the request is not traced."""
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


def begin(
    name: str,
    kind: int,
    parent: Parent | None,
    attributes: Attributes = None,
    shared: SharedAttributes = (),
) -> Span | None:
    """Starts a span below a sampled parent, None for a request that is not traced; arguments as for `Tracing.start`.

    Returns:
        The span; None if the request is not traced, or this process records nothing.
    """
    global _loop
    if parent is None or _tracing is None:
        return None
    if _loop is None:  # not before: a run without traces has no account of its loops
        _loop = LoopAccount()
    return _tracing.start(name, kind, parent, attributes, shared)


def note(
    name: str,
    kind: int,
    parent: Parent,
    start: int,
    attributes: SharedAttributes = (),
    error: BaseException | None = None,
    link: SpanContext | None = None,
) -> None:
    """Records a span that ends now and that nothing was below, if this process records any: `Tracing.note`."""
    if _tracing is not None:
        _tracing.note(name, kind, parent, start, attributes, error, link)


def note_busy(span: Span | None = None) -> None:
    """Notes how long the event loop had been busy, if that is long enough to have kept somebody waiting.

    Called when a request comes in, when it is answered and before each call that it makes, whether it is traced or not:
    the loop's account needs these, from the first traced request of the process on.

    Args:
        span: The SERVER span that begins, or the CLIENT span whose answer has been read.
    """
    if _loop is None:
        return
    busy = _loop.busy()
    if span is not None and busy is not None:
        span.set_attribute(BUSY, busy[0] / 1_000_000)
        span.set_attribute(RESTED, busy[1] / 1_000_000)


def child_span(
    name: str, *, kind: SpanKind = SpanKind.INTERNAL, attributes: Attributes = None
) -> AbstractContextManager[Span]:
    """Opens a child of the current span if the request is traced; costs next to nothing if not.

    Args:
        name: Name of the work, one of a small number of names.
        kind: INTERNAL, or CLIENT for a call of something outside this process.
        attributes: Never personal or payment data.
    """
    parent = sampled_parent()
    if parent is None:
        return UNTRACED
    span = begin(name, kind.value, parent, attributes)
    return UNTRACED if span is None else Current(span)


class Ending:
    """A `with` block that ends a span, which notes what ended the block early.

    Only the class of an error is noted: its message and its stack, which OpenTelemetry would record too, can hold
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
    """A `with` block that does so for a span that is the current one inside."""

    __slots__ = ("_token",)

    def __enter__(self) -> Span:
        self._token = otel_context.attach(trace.set_span_in_context(self._span))
        return self._span

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        otel_context.detach(self._token)
        super().__exit__(kind, error, stack)
