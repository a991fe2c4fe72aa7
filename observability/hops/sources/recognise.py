"""Recognises the format of bytes by their content, and reads the spans in them.

| begins with | is |
|---|---|
| `{`, with `data`, `spans` or `spanID` | Jaeger's JSON: an answer, a trace, a span as in its Elasticsearch |
| `{`, with `spanId` or `span_id` | a span of Jaeger's protobuf JSON |
| `{`, with `resourceSpans`, `resource_spans` or `batches`, also inside `result` or `trace` | OTLP JSON, also Tempo's |
| `{`, with `_source`, `hits`, `responses` or `rawResponse` | Elasticsearch's or OpenSearch's answer around these |
| `{`, with `traceId` and `id` | a span in Zipkin's format |
| `[` | a list of any of the above, such as Zipkin's lists of spans, and lists of such lists |
| a 4-byte length that fits the file | a Collector's file: OTLP protobuf or JSON, each message perhaps compressed |
| byte 0x0A and what follows it | OTLP protobuf |
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import UNSET, Raw, UnsetType

from hops.errors import MalformedTraceError
from hops.sources import jaeger_json, otlp_proto, zipkin
from hops.sources.compressed import ZSTD, unzstd
from hops.sources.decode_json import each, locate
from hops.sources.otlp_json import read_component
from hops.sources.unsupported import refuse_known, refuse_known_table
from hops.traces.span import Span
from hops.traces.typed_json import NotJsonError, read_one

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


class _Hits(msgspec.Struct):
    hits: list[Raw] = []


class _Keys(msgspec.Struct, rename="camel"):
    """Keys that distinguish JSON formats; the values are decoded later, piece by piece."""

    data: list[Raw] | UnsetType | None = UNSET
    spans: Raw | UnsetType = UNSET
    span_id: Raw | UnsetType = msgspec.field(name="spanID", default=UNSET)
    proto_span_id: Raw | UnsetType = msgspec.field(name="spanId", default=UNSET)
    proto_span_id_: Raw | UnsetType = msgspec.field(name="span_id", default=UNSET)
    id: Raw | UnsetType = UNSET
    trace_id: Raw | UnsetType = UNSET
    source: Raw | UnsetType = msgspec.field(name="_source", default=UNSET)
    hits: _Hits | UnsetType = UNSET
    responses: list[Raw] | UnsetType = UNSET
    raw_response: Raw | UnsetType = UNSET
    result: _Keys | UnsetType = UNSET
    trace: _Keys | UnsetType = UNSET
    resource_spans: list[Raw] | UnsetType | None = UNSET
    resource_spans_: list[Raw] | UnsetType | None = msgspec.field(name="resource_spans", default=UNSET)
    batches: list[Raw] | UnsetType | None = UNSET


_KEYS = msgspec.json.Decoder(_Keys)
_LIST = msgspec.json.Decoder(list[Raw])


def read_json_value(text: bytes | memoryview, where: str) -> tuple[str, Batches]:
    """Recognises the format of one JSON value, and reads its spans in batches.

    Args:
        text: JSON, without blanks in front.

    Raises:
        MalformedTraceError: The value is in none of the formats, or a part of it is wrong; the message names the place.
            Errors inside a batch are raised when it is read.
    """
    if text[:1] == b"[":
        return _read_list(read_one(_LIST, text, where), where)
    if text[:1] != b"{":
        raise MalformedTraceError(f"{where}: begins with {bytes(text[:20])!r}: {_describe_formats()}")
    try:
        recognised = _of_keys(read_one(_KEYS, text, where), text, where)
    except NotJsonError:
        raise
    except MalformedTraceError:
        refuse_known(text, where)
        raise
    if recognised is None:
        has = ", ".join(refuse_known(text, where)[:8]) or "none"
        raise MalformedTraceError(f"{where}: JSON without the keys of a trace (it has: {has}): {_describe_formats()}")
    return recognised


def _of_keys(keys: _Keys, text: bytes | memoryview, where: str) -> tuple[str, Batches] | None:
    """Recognises an object by its keys, and reads its spans; None if its keys match no format."""
    for inside, name in ((keys.source, "_source"), (keys.raw_response, "rawResponse")):
        if inside is not UNSET:
            return read_json_value(memoryview(inside), f"{where}.{name}")
    if keys.hits is not UNSET:
        return _read_list(keys.hits.hits, f"{where}.hits.hits")
    if keys.responses is not UNSET:
        return _read_list(keys.responses, f"{where}.responses")
    for inner, name in ((keys.result, ".result"), (keys.trace, ".trace")):
        if inner is not UNSET:
            keys, where = inner, where + name
            break
    if keys.data is not UNSET:
        return JAEGER, jaeger_json.read_data(keys.data or [], where)
    if keys.spans is not UNSET:
        return JAEGER, (jaeger_json.read_trace(one, where) for one in [text])
    if keys.span_id is not UNSET:
        return JAEGER, ([jaeger_json.read_span(one, where)] for one in [text])
    if keys.proto_span_id is not UNSET or keys.proto_span_id_ is not UNSET:
        refuse_known(text, where)
        return JAEGER, ([jaeger_json.read_proto_span(one, where)] for one in [text])
    if keys.id is not UNSET:
        if keys.trace_id is UNSET:
            refuse_known(text, where)
        return ZIPKIN, ([zipkin.read_span(one, where)] for one in [text])
    for resources, name in (
        (keys.resource_spans, "resourceSpans"),
        (keys.resource_spans_, "resource_spans"),
        (keys.batches, "batches"),
    ):
        if resources is not UNSET:
            return OTLP_JSON, each(locate(resources or [], f"{where}.{name}"), read_component, "components")
    return None


def read_binary(data: bytes | memoryview, where: str, head: bytes, forced: str = "") -> tuple[str, Batches]:
    """Recognises the format of bytes that are not JSON, or refuses them, and reads their spans in batches."""
    if forced == OTLP_FRAMED or (not forced and otlp_proto.looks_framed(head, data)):
        return OTLP_FRAMED, _read_framed(data, where)
    if forced == OTLP_PROTO or head[0] == otlp_proto.RESOURCE_SPANS:
        return OTLP_PROTO, otlp_proto.read_messages(data, where)
    refuse_known_table(head, where)
    what = f"begins with {head[:20]!r}" if head.strip() else "is blank"
    raise MalformedTraceError(f"{where}: {what}: {_describe_formats()}")


def _read_list(elements: list[Raw], where: str) -> tuple[str, Batches]:
    if not elements:
        return ZIPKIN, iter(())
    kind = _kind_of(elements, where)
    if kind == ZIPKIN and bytes(elements[0])[:1] == b"{":
        return kind, zipkin.read_list(elements, where)
    return kind, each(
        locate(elements, where), lambda piece: read_json_value(memoryview(piece[0]), piece[1])[1], "values"
    )


def _kind_of(elements: list[Raw], where: str) -> str:
    """Recognises the format of the first element whose format is known; an error is about the first element."""
    first: MalformedTraceError | None = None
    for raw, place in locate(elements, where):
        try:
            return read_json_value(memoryview(raw), place)[0]
        except MalformedTraceError as error:
            first = first or error
    assert first is not None
    raise first


def _read_framed(data: bytes | memoryview, where: str) -> Batches:
    def read(piece: tuple[memoryview, str]) -> Batches:
        frame, place = piece
        body: bytes | memoryview = unzstd(frame, place) if bytes(frame[:4]) == ZSTD else frame
        return read_json_value(body, place)[1] if body[:1] == b"{" else otlp_proto.read_messages(body, place)

    return each(otlp_proto.frames(data, where), read, "messages")


def _describe_formats() -> str:
    return f"expected one of {', '.join(f'{name} ({said})' for name, said in FORMATS.items())}"
