"""Writes spans as OTLP JSON, which Jaeger and this package read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from hops.traces.otlp import KINDS
from hops.traces.span import Span


def otlp_document(spans: Sequence[Span]) -> dict[str, Any]:
    """Converts spans to an OTLP document: one resource for each component, every attribute as text."""
    by_service: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        by_service[span.service].append(span)
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": [_attribute("service.name", service)]},
                "scopeSpans": [{"scope": {"name": "hopwise"}, "spans": [_span(span) for span in own]}],
            }
            for service, own in by_service.items()
        ]
    }


def _span(span: Span) -> dict[str, Any]:
    return {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "parentSpanId": span.parent_id,
        "name": span.name,
        "kind": KINDS.index(span.kind),
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": [_attribute(key, value) for key, value in span.attributes.items()],
        "links": [{"traceId": trace_id, "spanId": span_id} for trace_id, span_id in span.links],
    }


def _attribute(key: str, value: object) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": str(value)}}
