"""Exports the spans of a process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from opentelemetry import propagate

from shop.platform.config import ServiceConfig
from shop.platform.telemetry.trace_context import PROPAGATOR
from shop.platform.telemetry.tracing import Spans


@asynccontextmanager
async def telemetry(config: ServiceConfig) -> AsyncIterator[Spans]:
    """Sends the spans of this process to its collector, and flushes them at the end; traces nothing without one."""
    if config.otlp_endpoint is None:
        yield Spans()
        return
    # Imported here, so that a process without traces does not load the module.
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    from shop.platform.telemetry.sdk import sdk_tracing

    propagate.set_global_textmap(PROPAGATOR)
    processor = BatchSpanProcessor(OTLPSpanExporter(config.otlp_endpoint))
    async with sdk_tracing(processor, resource(config)) as tracing:
        yield Spans(tracing)


def resource(config: ServiceConfig) -> dict[str, str]:
    """Returns the attributes of the component that a process's spans belong to."""
    return {"service.name": config.component} | ({"service.instance.id": config.instance} if config.instance else {})
