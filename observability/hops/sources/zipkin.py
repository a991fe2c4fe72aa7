"""Zipkin's JSON, version 2: spans in microseconds, whose components are their local endpoints."""

from __future__ import annotations

from collections.abc import Iterator
from sys import intern

import msgspec
from msgspec import UNSET, Raw, UnsetType

from hops.errors import MalformedTraceError
from hops.sources.decode_json import Faults
from hops.sources.jaeger_json import interval_ns, span_id_of, trace_id_of
from hops.traces.otlp import NEEDED
from hops.traces.peers import lean
from hops.traces.span import UNKNOWN_SERVICE, AttributeValue, Kind, Span, shown_name
from hops.traces.typed_json import read_one

BATCH = 1000


class _Endpoint(msgspec.Struct, gc=False, rename="camel"):
    service_name: str | None = None
    ipv4: str | None = None
    ipv6: str | None = None


class _Annotation(msgspec.Struct, gc=False):
    endpoint: Raw | UnsetType = UNSET


class _Span(msgspec.Struct, gc=False, rename="camel"):
    trace_id: str
    id: str
    timestamp: int | float | None = None
    duration: int | float | None = None
    parent_id: str | None = None
    name: str | None = None
    kind: str | None = None
    local_endpoint: _Endpoint | None = None
    remote_endpoint: _Endpoint | None = None
    tags: dict[str, str] | None = None
    annotations: list[_Annotation] | None = None
    binary_annotations: Raw | UnsetType = UNSET


_SPAN = msgspec.json.Decoder(_Span)
_KINDS = {kind.value: kind for kind in Kind}


def read_list(spans: list[Raw], where: str) -> Iterator[list[Span]]:
    """Reads the spans of a list, a thousand at a time.

    Raises:
        MalformedTraceError: A value is missing or has a wrong type; the message names its place. All other spans were
            read before.
    """
    faults = Faults("spans")
    for first in range(0, len(spans), BATCH):
        batch: list[Span] = []
        for index, raw in enumerate(spans[first : first + BATCH], first):
            try:
                batch.append(read_span(raw, f"{where}[{index}]"))
            except MalformedTraceError as error:
                faults.add(error)
        yield batch
    faults.tell(len(spans))


def read_span(raw: Raw | memoryview | bytes, where: str) -> Span:
    """Reads one span; raises `MalformedTraceError` as `read_list` does."""
    span = read_one(_SPAN, raw, where)
    if span.binary_annotations is not UNSET or any(one.endpoint is not UNSET for one in span.annotations or ()):
        # Version 1 has kinds and services in annotations: read as version 2, the span would have no service.
        raise MalformedTraceError(f"{where}: is in version 1 of Zipkin's JSON; get it from Zipkin's /api/v2 instead")
    tags = span.tags or {}
    attributes: dict[str, AttributeValue] = {name: value for name, value in tags.items() if name in NEEDED}
    if (remote := span.remote_endpoint) is not None:
        named = {"peer.service": remote.service_name, "peer.ipv4": remote.ipv4, "peer.ipv6": remote.ipv6}
        for name, value in named.items():
            if value:
                attributes.setdefault(name, value)
    service = span.local_endpoint.service_name if span.local_endpoint is not None else None
    start_ns, end_ns = interval_ns(span.timestamp or 0, span.duration or 0, f"{where}: span", span.id)
    if not span.duration:
        end_ns = 0  # Zipkin rounds durations up to 1 µs, so a missing duration means an unfinished span
    kind = _KINDS.get((span.kind or "").upper(), Kind.UNSPECIFIED)
    return Span(
        intern(trace_id_of(span.trace_id)),
        span_id_of(span.id),
        span_id_of(span.parent_id) if span.parent_id and span.parent_id.strip("0") else "",
        shown_name(span.name or ""),
        kind,
        shown_name(service or UNKNOWN_SERVICE),
        start_ns,
        end_ns,
        lean(attributes, kind),
    )
