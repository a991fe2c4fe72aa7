"""Spans as the collector would get them, for tests that check which spans requests leave."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1 import trace_pb2
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased
from opentelemetry.trace import SpanContext, SpanKind, StatusCode

from recording.lean.otlp import Batch
from recording.lean.recorder import Recorder
from shop.platform.telemetry.sdk import SdkTracing


@dataclass(frozen=True)
class Status:
    status_code: StatusCode
    description: str


@dataclass(frozen=True)
class ReadSpan:
    name: str
    kind: SpanKind
    context: SpanContext
    parent: SpanContext
    start_time: int
    end_time: int
    attributes: dict[str, object]
    status: Status
    text: str
    links: tuple[SpanContext, ...] = ()


def spans_of(recorder: Recorder) -> list[ReadSpan]:
    """Returns the spans that wait in a recorder, in the order in which they ended; they stay there."""
    batch = Batch({})
    for ended in recorder.waiting:
        batch.add(ended)
    return [_read(span) for span in batch.message.resource_spans[0].scope_spans[0].spans]


def sdk_tracing(exporter: InMemorySpanExporter) -> SdkTracing:
    """Returns the stock SDK's tracing, whose spans are exported as they end."""
    provider = TracerProvider(ParentBased(ALWAYS_OFF))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return SdkTracing(provider.get_tracer("shop"))


def spans_of_sdk(exporter: InMemorySpanExporter) -> list[ReadSpan]:
    """Returns the spans of the stock SDK, in the order in which they ended; they stay there."""
    message = encode_spans(exporter.get_finished_spans())
    return [_read(span) for process in message.resource_spans for scope in process.scope_spans for span in scope.spans]


def draw_tree(spans: Sequence[ReadSpan]) -> str:
    """Returns the tree of a trace, children indented below their parents, in the order of their starts."""
    lines: list[str] = []

    def draw(parent: int, depth: int) -> None:
        for span in spans:
            if span.parent.span_id == parent:
                lines.append("  " * depth + f"{span.kind.name} {span.name}")
                draw(span.context.span_id, depth + 1)

    known = {span.context.span_id for span in spans}
    for root in dict.fromkeys(span.parent.span_id for span in spans):
        if root not in known:
            draw(root, 0)
    return "\n".join(lines)


async def let_servers_end() -> None:
    """Lets a server in this process end its side of a call."""
    await asyncio.sleep(0.05)


def _read(span: trace_pb2.Span) -> ReadSpan:
    def context(span_id: bytes, trace_id: bytes = span.trace_id) -> SpanContext:
        return SpanContext(int.from_bytes(trace_id), int.from_bytes(span_id), is_remote=False)

    return ReadSpan(
        name=span.name,
        kind=SpanKind(span.kind - 1),
        context=context(span.span_id),
        parent=context(span.parent_span_id),
        start_time=span.start_time_unix_nano,
        end_time=span.end_time_unix_nano,
        attributes={attribute.key: _value(attribute.value) for attribute in span.attributes},
        status=Status(StatusCode(span.status.code), span.status.message),
        text=str(span),
        links=tuple(context(link.span_id, link.trace_id) for link in span.links),
    )


def _value(value: AnyValue) -> object:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    return None if kind is None else getattr(value, kind)
