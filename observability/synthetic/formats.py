"""Synthetic traces in every format that tracing systems write, as small files and as very large ones."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from hops.traces.otlp import KINDS
from hops.traces.span import Span
from hops.traces.write_otlp import otlp_document
from synthetic.traces import shop_trace

_NS_PER_US = 1000
Trace = Sequence[Span]


def jaeger_trace(trace: Trace) -> dict[str, Any]:
    """Converts one trace to an entry of Jaeger's `data`: microseconds, kinds as tags, components as processes."""
    services = list(dict.fromkeys(span.service for span in trace))
    return {
        "traceID": trace[0].trace_id,
        "spans": [
            {
                "traceID": span.trace_id,
                "spanID": span.span_id,
                "operationName": span.name,
                "references": [
                    {"refType": "CHILD_OF", "traceID": span.trace_id, "spanID": span.parent_id}
                ] if span.parent_id else [],
                "startTime": span.start_ns // _NS_PER_US,
                "duration": span.end_ns // _NS_PER_US - span.start_ns // _NS_PER_US,
                "tags": [{"key": "span.kind", "type": "string", "value": span.kind.value.lower()}]
                + [{"key": name, "type": "string", "value": value} for name, value in span.attributes.items()],
                "logs": [],
                "processID": f"p{services.index(span.service)}",
                "warnings": None,
            }
            for span in trace
        ],
        "processes": {f"p{index}": {"serviceName": name, "tags": []} for index, name in enumerate(services)},
    }  # fmt: skip


def zipkin_trace(trace: Trace) -> list[dict[str, Any]]:
    """Converts one trace to Zipkin's list of spans: microseconds, no kind for INTERNAL spans."""
    return [
        {
            "traceId": span.trace_id,
            "id": span.span_id,
            **({"parentId": span.parent_id} if span.parent_id else {}),
            **({"kind": span.kind.value} if span.kind.value in ("CLIENT", "SERVER", "PRODUCER", "CONSUMER") else {}),
            "name": span.name,
            "timestamp": span.start_ns // _NS_PER_US,
            "duration": span.end_ns // _NS_PER_US - span.start_ns // _NS_PER_US,
            "localEndpoint": {"serviceName": span.service},
            "tags": {name: str(value) for name, value in span.attributes.items()},
        }
        for span in trace
    ]


def otlp_message(trace: Trace) -> bytes:
    """Converts one trace to `TracesData`."""
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
    from opentelemetry.proto.trace.v1 import trace_pb2

    def attribute(name: str, value: object) -> KeyValue:
        return KeyValue(key=name, value=AnyValue(string_value=str(value)))

    message = trace_pb2.TracesData()
    for service in dict.fromkeys(span.service for span in trace):
        resource = message.resource_spans.add()
        resource.resource.attributes.append(attribute("service.name", service))
        scope = resource.scope_spans.add()
        for span in trace:
            if span.service == service:
                scope.spans.add(
                    trace_id=bytes.fromhex(span.trace_id),
                    span_id=bytes.fromhex(span.span_id),
                    parent_span_id=bytes.fromhex(span.parent_id),
                    name=span.name,
                    kind=trace_pb2.Span.SpanKind.ValueType(KINDS.index(span.kind)),
                    start_time_unix_nano=span.start_ns,
                    end_time_unix_nano=span.end_ns,
                    attributes=[attribute(name, value) for name, value in span.attributes.items()],
                )
    return message.SerializeToString()


def frame(message: bytes) -> bytes:
    """Puts the length in front of a message, as the Collector's file exporter does."""
    return struct.pack(">I", len(message)) + message


def _dump(value: object) -> bytes:
    return json.dumps(value).encode()


#: For each format: the text before all traces, between two traces, after all, and the function that writes a trace.
WRITERS: dict[str, tuple[bytes, bytes, bytes, Callable[[Trace], bytes]]] = {
    "jaeger": (b'{"data": [', b",", b"]}", lambda trace: _dump(jaeger_trace(trace))),
    "otlp-json": (b"", b"\n", b"\n", lambda trace: _dump(otlp_document(trace))),
    "otlp-proto": (b"", b"", b"", otlp_message),
    "otlp-framed": (b"", b"", b"", lambda trace: frame(otlp_message(trace))),
    "zipkin": (b"[", b",", b"]", lambda trace: _dump(zipkin_trace(trace))),
}


def foreign_trace(seed: int, spans: int = 30) -> list[Span]:
    """Makes a trace shaped like the shop's, without any attribute that identifies it."""
    return [
        Span(one.trace_id, one.span_id, one.parent_id, one.name, one.kind, one.service, one.start_ns, one.end_ns,
             {name: value for name, value in one.attributes.items() if not name.startswith("shop.")})
        for one in shop_trace(seed, spans)
    ]  # fmt: skip


def write_traces(path: Path, kind: str, traces: int, *, spans: int = 30, shapes: int = 200) -> int:
    """Writes many traces, `shapes` of them different, with few in memory; returns the number of spans."""
    before, between, behind, written = WRITERS[kind]
    made = [foreign_trace(seed, spans) for seed in range(min(shapes, traces))]
    is_hex = kind not in ("otlp-proto", "otlp-framed")
    drawn = [(_id(one[0].trace_id, is_hex), written(one)) for one in made]
    with path.open("wb") as file:
        file.write(before)
        for number, (recurring, text) in enumerate(islice(cycle(drawn), traces), 1):
            file.write((b"" if number == 1 else between) + text.replace(recurring, _id(f"{number:032x}", is_hex)))
        file.write(behind)
    return traces * spans


def _id(trace_id: str, is_hex: bool) -> bytes:
    return trace_id.encode() if is_hex else bytes.fromhex(trace_id)
