"""Traces: who samples, what a span holds, and where spans go.

The sampling decision is made at the root of a trace, outside these processes; everything here follows its
parent, and a request without a sampled parent leaves no span at all. Such a request must also cost next to
nothing, so `child_span` does not ask the SDK for a span that nobody would see.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import propagate, trace
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import AttributeValue

from shop.platform.config import ServiceConfig

# At 1,000 spans a second the queue holds a minute; small batches keep the exporter's thread from holding the
# interpreter for long.
QUEUE_SPANS = 65_536
BATCH_SPANS = 128
BATCH_DELAY_MS = 500
EXPORT_TIMEOUT_S = 5
FLUSH_TIMEOUT_MS = 3_000
# Python's default of 5 ms lets the exporter's thread delay requests by as much.
THREAD_SWITCH_S = 0.000_5


def tracer() -> Tracer:
    """Returns the tracer of the shop; it does nothing outside `telemetry`."""
    return trace.get_tracer("shop")


def sampled() -> bool:
    """Whether the current request is traced."""
    return trace.get_current_span().get_span_context().trace_flags.sampled


@contextmanager
def telemetry(config: ServiceConfig, exporter: SpanExporter | None = None) -> Iterator[None]:
    """Sends the spans of this process to where the configuration says, and flushes them at the end.

    Database statements are traced by `shop.platform.database` itself.

    Args:
        config: Names the component, the collector, the topology and the trial; without a collector nothing is traced.
        exporter: Takes the spans in place of the collector.
    """
    propagate.set_global_textmap(TraceContextTextMapPropagator())
    if exporter is None:
        if config.otlp_endpoint is None:
            yield
            return
        # The scheme says whether TLS is used.
        exporter = OTLPSpanExporter(endpoint=config.otlp_endpoint, timeout=EXPORT_TIMEOUT_S)
    provider = TracerProvider(
        sampler=ParentBased(root=ALWAYS_OFF),
        resource=_resource(config),
        span_limits=SpanLimits(max_events=16),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(
        BatchSpanProcessor(
            exporter,
            max_queue_size=QUEUE_SPANS,
            schedule_delay_millis=BATCH_DELAY_MS,
            max_export_batch_size=BATCH_SPANS,
        )
    )
    trace.set_tracer_provider(provider)
    before = sys.getswitchinterval()
    sys.setswitchinterval(THREAD_SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
        provider.force_flush(FLUSH_TIMEOUT_MS)
        provider.shutdown()


@contextmanager
def child_span(
    name: str, *, kind: SpanKind = SpanKind.INTERNAL, attributes: Mapping[str, AttributeValue] | None = None
) -> Iterator[Span]:
    """Opens a child of the current span if the request is traced; costs next to nothing if not.

    Args:
        name: Name of the work, one of a small number of names.
        kind: INTERNAL, or CLIENT for a call of something outside this process.
        attributes: Never personal or payment data.

    Yields:
        The new span; the current one if the request is not traced.
    """
    parent = trace.get_current_span()
    if not parent.get_span_context().trace_flags.sampled:
        yield parent
        return
    with tracer().start_as_current_span(
        name, kind=kind, attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield span
        except BaseException as error:
            # The class only: messages and stacks of errors can hold personal data.
            span.set_attribute("error.type", type(error).__qualname__)
            span.set_status(Status(StatusCode.ERROR))
            raise


def _resource(config: ServiceConfig) -> Resource:
    attributes = {"service.name": config.component, "shop.topology": config.topology, "shop.trial": config.trial}
    return Resource.create(attributes | ({"service.instance.id": config.instance} if config.instance else {}))
