"""Spans recorded by the stock OpenTelemetry SDK.

The SDK's settings (`OTEL_BSP_…`, `OTEL_SPAN_…`, `OTEL_EXPORTER_OTLP_…`, `OTEL_RESOURCE_ATTRIBUTES`) work as
documented. The caller decides whether to sample: requests whose caller does not sample never reach the SDK.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased
from opentelemetry.trace import Link, NonRecordingSpan, Span, SpanContext, SpanKind, StatusCode

from shop.platform.telemetry.recorder import Attributes, Parent, SharedAttributes, attributes_by_name

FLUSH_S = 3.0
"""How long an ending process waits for the collector, in seconds."""


class SdkTracing:
    """Records spans through the SDK."""

    def __init__(self, tracer: trace.Tracer) -> None:
        self._tracer = tracer

    def start(
        self, name: str, kind: int, parent: Parent, attributes: Attributes = None, shared: SharedAttributes = ()
    ) -> Span:
        return self._tracer.start_span(
            name, _below(parent), SpanKind(kind), {**attributes_by_name(shared), **(attributes or {})}
        )

    def note(
        self,
        name: str,
        kind: int,
        parent: Parent,
        start: int,
        attributes: SharedAttributes = (),
        error: BaseException | None = None,
        link: SpanContext | None = None,
    ) -> None:
        links = () if link is None else (Link(link),)
        span = self._tracer.start_span(
            name, _below(parent), SpanKind(kind), attributes_by_name(attributes), links=links, start_time=start
        )
        if error is not None:
            span.set_attribute("error.type", type(error).__qualname__)
            span.set_status(StatusCode.ERROR)
        span.end()


def _below(parent: Parent) -> Context:
    above = NonRecordingSpan(parent) if isinstance(parent, SpanContext) else parent
    return trace.set_span_in_context(above, Context())


def tracer_provider(processor: SpanProcessor, resource: Mapping[str, str]) -> TracerProvider:
    provider = TracerProvider(ParentBased(ALWAYS_OFF), Resource.create(resource), shutdown_on_exit=False)
    provider.add_span_processor(processor)
    return provider


@asynccontextmanager
async def sdk_tracing(
    processor: SpanProcessor, resource: Mapping[str, str], flush_s: float = FLUSH_S
) -> AsyncIterator[SdkTracing]:
    """Records spans for as long as the context lasts; at its end, the processor exports the rest."""
    provider = tracer_provider(processor, resource)
    trace.set_tracer_provider(provider)
    try:
        yield SdkTracing(provider.get_tracer("shop"))
    finally:
        # The SDK waits 10 s for a collector that hangs; the process does not wait so long.
        closing = threading.Thread(target=provider.shutdown, daemon=True)
        closing.start()
        await asyncio.to_thread(closing.join, flush_s)
