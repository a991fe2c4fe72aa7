"""Traces of events: each event has a separate trace, linked to the call that caused it.

The root span begins when the event happened and ends when the event has reached its receiver, which alone knows the end
and records the root. The other spans follow OpenTelemetry's conventions for messaging: a PRODUCER span while an event
waits to be sent, a CONSUMER span while it waits to be processed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from random import getrandbits

from opentelemetry.trace import SpanContext, TraceFlags

from shop.platform.telemetry.recorder import CONSUMER, INTERNAL, PRODUCER, SharedAttributes, shared_attributes
from shop.platform.telemetry.trace_context import sampled_caller, traceparent
from shop.platform.telemetry.tracing import Spans, child_span

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)


def messaging(queue: str, operation: str) -> SharedAttributes:
    return shared_attributes(
        {
            "messaging.system": "postgresql",
            "messaging.destination.name": queue,
            "messaging.operation.name": operation,
            "messaging.operation.type": operation,
        }
    )


class EventTraces:
    """Records the traces of events."""

    def __init__(self, spans: Spans) -> None:
        self._spans = spans

    def record_send(self, queue: str, happened_in: str, since: datetime) -> str:
        """Begins the trace of an event that has waited until now to be sent; returns its context (W3C).

        `happened_in` is the context of the call that caused it. Both are empty if the call was not traced.
        """
        cause = sampled_caller(happened_in) if happened_in else None
        if cause is None:
            return ""
        root = SpanContext(getrandbits(128) or 1, getrandbits(64) or 1, is_remote=True, trace_flags=_SAMPLED)
        self._spans.note(f"send {queue}", PRODUCER, root, _ns(since), messaging(queue, "send"), link=cause)
        return traceparent(root)

    def record_receive(self, queue: str, context: str, since: datetime) -> None:
        """Records that an event has waited until now to be processed; `context` is its trace, from `record_send`."""
        if context and (root := sampled_caller(context)) is not None:
            self._spans.note(f"process {queue}", CONSUMER, root, _ns(since), messaging(queue, "process"))

    @contextmanager
    def work_for(self, contexts: Sequence[str], name: str) -> Iterator[None]:
        """Puts the spans of work that is done for several events below one span in the first event's trace.

        The other traces get a span of the same name and time, with a link to that span and no children. Contexts (W3C)
        are empty for events without a trace.
        """
        roots = [root for context in contexts if context and (root := sampled_caller(context)) is not None]
        if not roots:
            yield
            return
        first, *others = roots
        start_ns = time.time_ns()
        with self._spans.below(first), child_span(name) as span:
            yield
            for root in others:
                self._spans.note(name, INTERNAL, root, start_ns, link=span.get_span_context())

    def record_push(self, context: str, start_ns: int) -> None:
        """Records that an event has been written to its receiver, since `start_ns`, in ns since the epoch."""
        if context and (root := sampled_caller(context)) is not None:
            self._spans.note("push", INTERNAL, root, start_ns)


NOT_TRACED = EventTraces(Spans())


def _ns(instant: datetime) -> int:
    return (instant - _EPOCH) // timedelta(microseconds=1) * 1_000
