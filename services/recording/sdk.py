"""Spans recorded by the stock OpenTelemetry SDK, with its batch processor and OTLP exporter, and an account of them."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from recording.account import SpanAccount
from shop.platform.telemetry.sdk import FLUSH_S, SdkTracing, sdk_tracing, tracer_provider


class _Accounted(SpanExporter):
    """Counts exported and lost spans, and the CPU time of the export."""

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
            # If an export ends after the process has given up waiting, its spans have already been counted.
            self._account.lost = max(self._account.lost, self._refused)
        self._account.write()
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()


class _Batches(BatchSpanProcessor):
    """The SDK's processor, which counts the spans."""

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


@asynccontextmanager
async def exporting(
    endpoint: str, resource: Mapping[str, str], account: SpanAccount, flush_s: float = FLUSH_S
) -> AsyncIterator[SdkTracing]:
    processor = _Batches(_Accounted(OTLPSpanExporter(endpoint), account), account)
    try:
        async with sdk_tracing(processor, resource, flush_s) as tracing:
            yield tracing
    finally:
        # The processor does not report spans for which its queue had no room.
        account.lost = account.recorded - account.exported
        account.write()


@contextmanager
def discarding() -> Iterator[SdkTracing]:
    provider = tracer_provider(BatchSpanProcessor(_Nowhere()), {})
    yield SdkTracing(provider.get_tracer("shop"))
    provider.shutdown()
