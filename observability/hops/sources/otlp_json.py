"""Reads OTLP JSON, component by component; keys may be in camelCase (`traceId`) or as in protobuf (`trace_id`)."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import Raw

from hops.errors import MalformedTraceError
from hops.sources.decode_json import camel_case, each, locate
from hops.traces import otlp
from hops.traces.span import Span
from hops.traces.typed_json import read_one


class _RawScope(msgspec.Struct):
    spans: list[Raw] | None = None


class _RawResource(msgspec.Struct, rename="camel"):
    """Spans of one component, each decoded separately."""

    resource: Raw = Raw(b"{}")
    scope_spans: list[_RawScope] | None = None
    instrumentation_library_spans: list[_RawScope] | None = None


_RAW_RESOURCE = msgspec.json.Decoder(_RawResource)
_RESOURCE = msgspec.json.Decoder(otlp.ResourceSpans, strict=False)


def read_component(piece: tuple[Raw | bytes, str]) -> Iterator[list[Span]]:
    """Reads the spans of one component; one by one if they contain an error.

    Raises:
        MalformedTraceError: A value is missing or has a wrong type; the message names its place. All other spans were
            read before.
    """
    raw, where = piece
    try:
        spans = otlp.spans_of_one(read_one(_RESOURCE, raw, where), where)
    except MalformedTraceError:
        renamed = camel_case(raw)
        yield from _one_by_one(raw, where) if renamed is None else read_component((renamed, where))
    else:
        yield spans


def _one_by_one(component: Raw | bytes, where: str) -> Iterator[list[Span]]:
    whole = read_one(_RAW_RESOURCE, component, where)

    def read(piece: tuple[Raw, str]) -> Iterator[list[Span]]:
        span, place = piece
        alone = b'{"resource":%b,"scopeSpans":[{"spans":[%b]}]}' % (bytes(whole.resource), bytes(span))
        try:
            yield otlp.spans_of_one(read_one(_RESOURCE, alone, place), place)
        except MalformedTraceError as error:
            raise MalformedTraceError(str(error).replace(f"{place}.scopeSpans[0].spans[0]", place)) from error

    pieces = (
        one
        for index, scope in enumerate([*(whole.scope_spans or ()), *(whole.instrumentation_library_spans or ())])
        for one in locate(scope.spans or [], f"{where}.scopeSpans[{index}].spans")
    )
    return each(pieces, read, "spans")
