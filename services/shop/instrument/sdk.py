"""Spans of the stock OpenTelemetry SDK, with its batch processor and its OTLP exporter as they come.

Its settings (`OTEL_BSP_…`, `OTEL_SPAN_…`, `OTEL_EXPORTER_OTLP_…`) have the effect that its documentation says. The
sampling decision is the caller's: nobody asks the SDK about a request that its caller does not sample.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import lru_cache

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased
from opentelemetry.trace import Link, NonRecordingSpan, Span, SpanContext, SpanKind, StatusCode

from shop.instrument.account import SpanAccount
from shop.instrument.tracing import Attributes, Parent, SharedAttributes

FLUSH_S = 3.0
"""Seconds for the collector at the end of the process, as the lean recorder gives it."""


class SdkTracing:
    """Spans of the SDK."""

    def __init__(self, tracer: trace.Tracer) -> None:
        self._tracer = tracer

    def start(
        self,
        name: str,
        kind: int,
        parent: Parent,
        attributes: Attributes = None,
        shared: SharedAttributes = (),
    ) -> Span:
        return self._tracer.start_span(name, _below(parent), SpanKind(kind), {**_by_name(shared), **(attributes or {})})

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
            name, _below(parent), SpanKind(kind), _by_name(attributes), links=links, start_time=start
        )
        if error is not None:
            span.set_attribute("error.type", type(error).__qualname__)
            span.set_status(StatusCode.ERROR)
        span.end()


def _below(parent: Parent) -> Context:
    above = NonRecordingSpan(parent) if isinstance(parent, SpanContext) else parent
    return trace.set_span_in_context(above, Context())


@lru_cache(maxsize=4096)
def _by_name(shared: SharedAttributes) -> Mapping[str, str | int]:
    middle = len(shared) // 2
    return {str(name): value for name, value in zip(shared[:middle], shared[middle:], strict=True)}


class _Accounted(SpanExporter):
    """Counts what becomes of spans, and the CPU time of exporting them."""

    def __init__(self, exporter: SpanExporter, account: SpanAccount) -> None:
        self._exporter = exporter
        self._account = account
        self._refused = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        began = time.thread_time()
        result = self._exporter.export(spans)
        self._account.export_cpu_s += time.thread_time() - began
        if result is SpanExportResult.SUCCESS:
            self._account.exported += len(spans)
        else:
            self._refused += len(spans)
            # An export that ends after the process has given up has been counted already.
            self._account.lost = max(self._account.lost, self._refused)
        self._account.write()
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()


class _Batches(BatchSpanProcessor):
    """The SDK's processor, whose spans are counted."""

    def __init__(self, exporter: SpanExporter, account: SpanAccount) -> None:
        super().__init__(exporter)
        self._account = account

    def on_end(self, span: ReadableSpan) -> None:
        self._account.recorded += 1
        super().on_end(span)


class _Nowhere(SpanExporter):
    def export(self, _: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None: ...


def _provider(exporter: SpanExporter, resource: Mapping[str, str], account: SpanAccount) -> TracerProvider:
    provider = TracerProvider(ParentBased(ALWAYS_OFF), Resource.create(resource), shutdown_on_exit=False)
    provider.add_span_processor(_Batches(_Accounted(exporter, account), account))
    return provider


@asynccontextmanager
async def exporting(
    endpoint: str, resource: Mapping[str, str], account: SpanAccount, flush_s: float = FLUSH_S
) -> AsyncIterator[SdkTracing]:
    provider = _provider(OTLPSpanExporter(endpoint), resource, account)
    trace.set_tracer_provider(provider)
    try:
        yield SdkTracing(provider.get_tracer("shop"))
    finally:
        # The SDK waits 10 s for a collector that hangs; the process does not wait so long.
        closing = threading.Thread(target=provider.shutdown, daemon=True)
        closing.start()
        await asyncio.to_thread(closing.join, flush_s)
        # What did not fit into the processor's queue is told to nobody.
        account.lost = account.recorded - account.exported
        account.write()


@contextmanager
def discarding() -> Iterator[SdkTracing]:
    provider = _provider(_Nowhere(), {}, SpanAccount(None))
    yield SdkTracing(provider.get_tracer("shop"))
    provider.shutdown()
