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

import msgspec
from msgspec import UNSET, Raw, UnsetType

from hops.errors import MalformedTraceError
from hops.sources import jaeger_json, otlp_proto, zipkin
from hops.sources.compressed import ZSTD, unzstd
from hops.sources.read_json import each, read_one
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


class _RawScope(msgspec.Struct):
    spans: list[Raw] | None = None


class _RawResource(msgspec.Struct, rename="camel"):
    """Spans of one component, each decoded by itself."""

    resource: Raw = Raw(b"{}")
    scope_spans: list[_RawScope] | None = None
    instrumentation_library_spans: list[_RawScope] | None = None


_KEYS = msgspec.json.Decoder(_Keys)
_RAW_RESOURCE = msgspec.json.Decoder(_RawResource)
_LIST = msgspec.json.Decoder(list[Raw])
_OBJECT = msgspec.json.Decoder(dict[str, Raw])
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
        return JAEGER, (jaeger_json.read_trace(one, where) for one in [text])
    if keys.span_id is not UNSET:
        return JAEGER, ([jaeger_json.read_span(one, where)] for one in [text])
    if keys.id is not UNSET:
        return ZIPKIN, ([zipkin.read_span(one, where)] for one in [text])
    for resources, name in ((keys.resource_spans, "resourceSpans"), (keys.batches, "batches")):
        if resources is not UNSET:
            return OTLP_JSON, each(_placed(resources or [], f"{where}.{name}"), _component, "components")
    others = read_one(_OBJECT, text, where)
    has = ", ".join(list(others)[:8]) or "none"
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
    what = f"begins with {head[:20]!r}" if head.strip() else "is blank"
    raise MalformedTraceError(f"{where}: {what}: {_expected()}")


def _read_list(elements: list[Raw], where: str) -> tuple[str, Batches]:
    if not elements:
        return ZIPKIN, iter(())
    kind, _ = read_json_value(memoryview(elements[0]), f"{where}[0]")
    if kind == ZIPKIN and bytes(elements[0])[:1] == b"{":
        return kind, zipkin.read_list(elements, where)
    return kind, each(
        _placed(elements, where), lambda piece: read_json_value(memoryview(piece[0]), piece[1])[1], "values"
    )


def _placed(pieces: list[Raw], where: str) -> Iterator[tuple[Raw, str]]:
    return ((raw, f"{where}[{index}]") for index, raw in enumerate(pieces))


def _component(piece: tuple[Raw, str]) -> Batches:
    """The spans of one component; one by one if something in them is wrong."""
    raw, where = piece
    try:
        spans = otlp.spans_of_one(read_one(_RESOURCE, raw, where), where)
    except MalformedTraceError:
        yield from _one_by_one(raw, where)
    else:
        yield spans


def _one_by_one(component: Raw, where: str) -> Batches:
    whole = read_one(_RAW_RESOURCE, component, where)

    def read(piece: tuple[Raw, str]) -> Batches:
        span, place = piece
        alone = b'{"resource":%b,"scopeSpans":[{"spans":[%b]}]}' % (bytes(whole.resource), bytes(span))
        try:
            yield otlp.spans_of_one(read_one(_RESOURCE, alone, place), place)
        except MalformedTraceError as error:
            raise MalformedTraceError(str(error).replace(f"{place}.scopeSpans[0].spans[0]", place)) from error

    pieces = (
        one
        for index, scope in enumerate(whole.scope_spans or whole.instrumentation_library_spans or ())
        for one in _placed(scope.spans or [], f"{where}.scopeSpans[{index}].spans")
    )
    return each(pieces, read, "spans")


def _framed(data: bytes | memoryview, where: str) -> Batches:
    def read(piece: tuple[memoryview, str]) -> Batches:
        frame, place = piece
        body: bytes | memoryview = unzstd(frame, place) if bytes(frame[:4]) == ZSTD else frame
        return read_json_value(body, place)[1] if body[:1] == b"{" else otlp_proto.read_messages(body, place)

    return each(otlp_proto.frames(data, where), read, "messages")


def _expected() -> str:
    return f"expected one of {', '.join(f'{name} ({said})' for name, said in FORMATS.items())}"
