"""Traces: who samples, what a span holds, and where spans go.

The sampling decision is made at the root of a trace, outside these processes; everything here follows its
parent, and a request without a sampled parent leaves no span at all. Such a request must also cost next to
nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext
from typing import TypeVar

from opentelemetry import propagate, trace
from opentelemetry.trace import INVALID_SPAN, Span, SpanContext, SpanKind

from shop.platform.config import ServiceConfig
from shop.platform.span_account import SpanAccount
from shop.platform.span_cost import span_costs
from shop.platform.span_export import SpanExporter
from shop.platform.spans import (
    Attributes,
    CurrentSpan,
    Parent,
    RecordedSpan,
    Recorder,
    RecordingProvider,
    SharedAttributes,
)
from shop.platform.trace_context import PROPAGATOR

S = TypeVar("S", bound=RecordedSpan)

UNTRACED = nullcontext(INVALID_SPAN)
"""What work that is not traced runs in, in place of a span."""

LONGEST_VALUE = 1_000
"""Characters that a span keeps of what a client chose, such as a path."""

_recorder: Recorder | None = None


@asynccontextmanager
async def telemetry(config: ServiceConfig) -> AsyncIterator[None]:
    """Sends the spans of this process to where the configuration says, and flushes them at the end.

    Database statements are traced by `shop.platform.database.connections` itself.

    Args:
        config: Names the component, the collector, the topology and the trial; without a collector nothing is traced.
    """
    if config.otlp_endpoint is None:
        yield
        return
    account = SpanAccount.of(config)
    with recording() as recorder:
        async with SpanExporter(recorder, account, config):
            yield
    account.write(span_costs())


@contextmanager
def recording() -> Iterator[Recorder]:
    """Records the spans of sampled requests for as long as the context lasts.

    Yields:
        What keeps the spans.
    """
    global _recorder
    before, _recorder = _recorder, Recorder()
    propagate.set_global_textmap(PROPAGATOR)
    trace.set_tracer_provider(RecordingProvider(_recorder))
    try:
        yield _recorder
    finally:
        _recorder = before


def sampled_parent() -> RecordedSpan | SpanContext | None:
    """Returns what spans of the current request go below; None if the request is not traced."""
    span = trace.get_current_span()
    if isinstance(span, RecordedSpan):
        return span
    context = span.get_span_context()
    return context if context.trace_flags.sampled else None


def begin(
    made: type[S],
    name: str,
    kind: int,
    parent: Parent | None,
    attributes: Attributes = None,
    shared: SharedAttributes = (),
) -> S | None:
    """Starts a span below a sampled parent.

    Args:
        made: Class of the span.
        name: Name of the work, one of a small number of names.
        kind: `INTERNAL`, `SERVER` or `CLIENT`.
        parent: The span above it; None for a request that is not traced.
        attributes: Never personal or payment data.
        shared: Further attributes.

    Returns:
        The span; None if the request is not traced, or this process records nothing.
    """
    if parent is None or _recorder is None:
        return None
    return made(_recorder, name, kind, parent, attributes, None, shared)


def note(
    name: str,
    kind: int,
    parent: Parent,
    start: int,
    attributes: SharedAttributes = (),
    error: BaseException | None = None,
) -> None:
    """Records a span that ends now and that nothing was below, if this process records any.

    Args:
        name: Name of the work, one of a small number of names.
        kind: `INTERNAL` or `CLIENT`.
        parent: The span above it.
        start: When it started, in ns since the epoch.
        attributes: Never personal or payment data.
        error: What ended it early.
    """
    if _recorder is not None:
        _recorder.note(name, kind, parent, start, attributes, error)


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
    return begin(CurrentSpan, name, kind.value, parent, attributes) or UNTRACED
