"""Which format bytes are in, by their content, and the spans in them.

| begins with | is |
|---|---|
| `{`, with `data`, `spans` or `spanID` | Jaeger's JSON: an answer, a trace, a span as in its Elasticsearch |
| `{`, with `resourceSpans` or `batches`, also inside `result` or `trace` | OTLP JSON: Jaeger's, Tempo's too |
| `{`, with `traceId` and `id` | a span of Zipkin's |
| `[` | a list of any of the above, as Zipkin's lists of spans, and lists of such lists |
| a length in 4 bytes that fits | a Collector's file: OTLP protobuf or JSON, each message perhaps compressed |
| byte 0x0A and what follows it | OTLP protobuf |
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import msgspec
from msgspec import UNSET, Raw, UnsetType

from hops.errors import MalformedTraceError
from hops.sources import jaeger_json, otlp_proto, zipkin
from hops.sources.compressed import ZSTD, unzstd
from hops.sources.read_json import read_one
from hops.traces import otlp
from hops.traces.span import Span

JAEGER, OTLP_JSON, OTLP_PROTO, OTLP_FRAMED, ZIPKIN = "jaeger", "otlp-json", "otlp-proto", "otlp-framed", "zipkin"
FORMATS = {
    JAEGER: "Jaeger's JSON",
    OTLP_JSON: "OTLP JSON",
    OTLP_PROTO: "OTLP protobuf",
    OTLP_FRAMED: "length-prefixed OTLP of a Collector",
    ZIPKIN: "Zipkin v2 JSON",
}
BINARY = (OTLP_PROTO, OTLP_FRAMED)

Batches = Iterator[list[Span]]


class _Keys(msgspec.Struct, rename="camel"):
    """What tells JSON formats apart; the values are decoded later, piece by piece."""

    data: list[Raw] | UnsetType | None = UNSET
    spans: Raw | UnsetType = UNSET
    span_id: Raw | UnsetType = msgspec.field(name="spanID", default=UNSET)
    id: Raw | UnsetType = UNSET
    result: _Keys | UnsetType = UNSET
    trace: _Keys | UnsetType = UNSET
    resource_spans: list[Raw] | UnsetType | None = UNSET
    batches: list[Raw] | UnsetType | None = UNSET


_KEYS = msgspec.json.Decoder(_Keys)
_LIST = msgspec.json.Decoder(list[Raw])
_RESOURCE = msgspec.json.Decoder(otlp.ResourceSpans, strict=False)


def read_json_value(text: bytes | memoryview, where: str) -> tuple[str, Batches]:
    """The format of one JSON value, and its spans in batches.

    Args:
        text: JSON, without blanks in front.
        where: Name of the input, for messages.

    Raises:
        MalformedTraceError: It is none of the formats, or a value in it is wrong; the message names the place. What is
            wrong inside a batch is told when it is its turn.
    """
    if text[:1] == b"[":
        return _read_list(read_one(_LIST, text, where), where)
    if text[:1] != b"{":
        raise MalformedTraceError(f"{where}: begins with {bytes(text[:20])!r}: {_expected()}")
    keys = read_one(_KEYS, text, where)
    for inner, name in ((keys.result, ".result"), (keys.trace, ".trace")):
        if inner is not UNSET:
            keys, where = inner, where + name
            break
    if keys.data is not UNSET:
        return JAEGER, jaeger_json.read_data(keys.data or [], where)
    if keys.spans is not UNSET:
        return JAEGER, iter([jaeger_json.read_trace(text, where)])
    if keys.span_id is not UNSET:
        return JAEGER, iter([[jaeger_json.read_span(text, where)]])
    if keys.id is not UNSET:
        return ZIPKIN, iter([[zipkin.read_span(text, where)]])
    for resources, name in ((keys.resource_spans, "resourceSpans"), (keys.batches, "batches")):
        if resources is not UNSET:
            return OTLP_JSON, _resources(resources or [], f"{where}.{name}")
    has = ", ".join(list(msgspec.json.decode(text, type=dict[str, Raw]))[:8]) or "none"
    raise MalformedTraceError(f"{where}: JSON without the keys of a trace (it has: {has}): {_expected()}")


def read_binary(data: bytes | memoryview, where: str, head: bytes, forced: str = "") -> tuple[str, Batches]:
    """The format of bytes that are not JSON, and their spans in batches.

    Args:
        data: The bytes.
        where: Name of the input, for messages.
        head: The first of them.
        forced: One of `BINARY`; empty to recognise it.

    Raises:
        MalformedTraceError: It is none of the formats.
    """
    if forced == OTLP_FRAMED or (not forced and otlp_proto.looks_framed(head, len(data))):
        return OTLP_FRAMED, _framed(data, where)
    if forced == OTLP_PROTO or head[0] == otlp_proto.RESOURCE_SPANS:
        return OTLP_PROTO, otlp_proto.read_messages(data, where)
    raise MalformedTraceError(f"{where}: begins with {head[:20]!r}: {_expected()}")


def _read_list(elements: list[Raw], where: str) -> tuple[str, Batches]:
    if not elements:
        return ZIPKIN, iter(())
    places = ((one, f"{where}[{index}]") for index, one in enumerate(elements))
    kind, first = read_json_value(memoryview(elements[0]), f"{where}[0]")
    if kind == ZIPKIN and bytes(elements[0])[:1] == b"{":
        return kind, zipkin.read_list(elements, where)
    next(places)
    return kind, chain(first, (batch for one, place in places for batch in read_json_value(memoryview(one), place)[1]))


def _resources(resources: list[Raw], where: str) -> Batches:
    for index, raw in enumerate(resources):
        place = f"{where}[{index}]"
        yield otlp.spans_of(otlp.Document(resource_spans=[read_one(_RESOURCE, raw, place)]), where=place)


def _framed(data: bytes | memoryview, where: str) -> Batches:
    for frame, place in otlp_proto.frames(data, where):
        body: bytes | memoryview = unzstd(frame, place) if bytes(frame[:4]) == ZSTD else frame
        if body[:1] == b"{":
            yield from read_json_value(body, place)[1]
        else:
            yield from otlp_proto.read_messages(body, place)


def _expected() -> str:
    return f"expected one of {', '.join(f'{name} ({said})' for name, said in FORMATS.items())}"
