"""Ended spans as OTLP messages (https://opentelemetry.io/docs/specs/otlp/)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, SpanFlags
from opentelemetry.util.types import AttributeValue

from recording.lean.recorder import FIELDS, EndedSpan
from shop.platform.telemetry.recorder import SharedAttributes

log = logging.getLogger(__name__)

_SPAN_ID = (1 << 64) - 1
_HERE = SpanFlags.SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK
_REMOTE = _HERE | SpanFlags.SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK


class Batch:
    """Spans of one process, in the OTLP message that exports them."""

    def __init__(self, resource: Mapping[str, AttributeValue]) -> None:
        self.message = ExportTraceServiceRequest()
        of_process = self.message.resource_spans.add()
        of_process.resource.attributes.extend(map(_key_value, resource.keys(), resource.values()))
        self._spans: ScopeSpans = of_process.scope_spans.add()
        self._spans.scope.name = "shop"

    def __len__(self) -> int:
        return len(self._spans.spans)

    def add(self, ended: EndedSpan) -> None:
        trace_id, span_id, parent_id, remote, state, name, kind, start, end, code, description, link, common = ended[
            :FIELDS
        ]
        # Assigning the fields takes a quarter of the time of passing them to the constructor.
        span = self._spans.spans.add()
        span.trace_id = trace_id.to_bytes(16)
        span.span_id = span_id.to_bytes(8)
        span.parent_span_id = parent_id.to_bytes(8)
        span.flags = _REMOTE if remote else _HERE
        span.name = name
        span.kind = kind + 1  # OTLP's numbers begin with "unspecified"
        span.start_time_unix_nano = start
        span.end_time_unix_nano = end
        if state:
            span.trace_state = state
        if code:
            span.status.code = code
            span.status.message = description or ""
        if link:
            span.links.add(trace_id=(link >> 64).to_bytes(16), span_id=(link & _SPAN_ID).to_bytes(8))
        if common:
            span.attributes.extend(_key_values(common))
        if len(ended) == FIELDS:
            return
        middle = (FIELDS + len(ended)) // 2
        try:
            span.attributes.extend(map(_key_value, ended[FIELDS:middle], ended[middle:]))
        except TypeError:  # a list cannot be looked up
            del span.attributes[len(common) // 2 :]
            span.attributes.extend(map(_key_value.__wrapped__, ended[FIELDS:middle], ended[middle:]))


@lru_cache(maxsize=4096)
def _key_values(common: SharedAttributes) -> list[KeyValue]:
    middle = len(common) // 2
    return list(map(_key_value, common[:middle], common[middle:]))


# Nearly all attributes are the same in all spans. `typed`, because 1 == True.
@lru_cache(maxsize=4096, typed=True)
def _key_value(name: str, value: Any) -> KeyValue:
    try:
        return KeyValue(key=name, value=_any_value(value))
    except (TypeError, ValueError):  # too large an integer, a lone surrogate
        log.warning("attribute %s of a span is left empty: OTLP cannot hold the %s", name, type(value).__name__)
        return KeyValue(key=name)


def _any_value(value: Any) -> AnyValue:
    if isinstance(value, str):
        return AnyValue(string_value=value)
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, Sequence):
        return AnyValue(array_value=ArrayValue(values=map(_any_value, value)))
    raise TypeError(type(value).__name__)
