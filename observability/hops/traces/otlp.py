"""OTLP JSON to spans: Jaeger's api_v3 answers and files of OTLP JSON lines.

Writers differ: the OTLP specification wants ids in hex and 64-bit integers as strings, plain protobuf JSON has ids
in base64, and both allow numbers and names for enums. All of these are read; Jaeger's own dialect is read fastest, by
`typed_otlp`.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hops.errors import MalformedTraceError
from hops.traces import typed_otlp
from hops.traces.span import AttributeValue, Kind, Span

TRACE_ID_BYTES = 16
SPAN_ID_BYTES = 8

_KINDS: dict[int | str, Kind] = dict(enumerate(typed_otlp.KINDS))
_KINDS |= {f"SPAN_KIND_{kind.value}": kind for kind in Kind}
_HEX = frozenset("0123456789abcdefABCDEF")


def read_file(path: Path) -> list[Span]:
    """Reads a file of OTLP JSON: one document, or one document a line.

    Args:
        path: The file; a Jaeger api_v3 answer saved as it came is fine too.

    Returns:
        The spans in the order of the file.

    Raises:
        MalformedTraceError: A line is no OTLP JSON; the message names the file and the line.
        OSError: The file cannot be read.
    """
    text = path.read_bytes()
    try:
        return read_spans(text, where=str(path))
    except json.JSONDecodeError as whole:
        lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        if len(lines) < 2:
            raise MalformedTraceError(f"{path}: not JSON: {whole}") from whole
    return [span for number, line in lines for span in read_line(line, where=f"{path}:{number}")]


def read_line(line: bytes, *, where: str) -> list[Span]:
    """Reads one line of a file of OTLP JSON lines.

    Raises:
        MalformedTraceError: A value is missing or of another type; the message names its place.
    """
    try:
        return read_spans(line, where=where)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedTraceError(f"{where}: not JSON: {error}") from error


def read_spans(text: bytes, *, where: str = "OTLP JSON") -> list[Span]:
    """Reads the spans of one document, in one typed pass if its dialect is Jaeger's.

    Args:
        text: JSON.
        where: Name of the input, for messages.

    Returns:
        The spans in the order of the document, with at least those attributes that a budget needs.

    Raises:
        MalformedTraceError: A value is missing or of another type; the message names its place in the document.
        json.JSONDecodeError: The text is not JSON.
        UnicodeDecodeError: The text is not UTF-8.
    """
    try:
        return typed_otlp.spans_of(typed_otlp.decode(text))
    except typed_otlp.OtherDialectError:
        return list(parse_document(json.loads(text), where=where))


def parse_document(document: Any, *, where: str = "OTLP JSON") -> Iterator[Span]:
    """Yields the spans of one decoded document.

    Args:
        document: `{"resourceSpans": [...]}`, or the same inside Jaeger's `{"result": ...}`.
        where: Name of the input, for messages.

    Raises:
        MalformedTraceError: A value is missing or of another type; the message names its place in the document.
    """
    body = _object(document, where)
    if "result" in body:
        where = f"{where}.result"
        body = _object(body["result"], where)
    if "resourceSpans" not in body:
        raise MalformedTraceError(f"{where}: has no `resourceSpans` (it has: {_keys(body)})")
    for i, resource_spans in enumerate(_array(body["resourceSpans"], f"{where}.resourceSpans")):
        place = f"{where}.resourceSpans[{i}]"
        resource_spans = _object(resource_spans, place)
        resource = _object(resource_spans.get("resource", {}), f"{place}.resource")
        service = _attributes(resource.get("attributes", []), f"{place}.resource").get("service.name", "")
        if not isinstance(service, str) or not service:
            raise MalformedTraceError(f"{place}.resource: has no `service.name`, so its time belongs to no component")
        for j, scope_spans in enumerate(_array(resource_spans.get("scopeSpans", []), f"{place}.scopeSpans")):
            inner = f"{place}.scopeSpans[{j}]"
            spans = _array(_object(scope_spans, inner).get("spans", []), f"{inner}.spans")
            for k, span in enumerate(spans):
                yield _span(span, service, f"{inner}.spans[{k}]")


def _span(raw: Any, service: str, where: str) -> Span:
    body = _object(raw, where)
    kind = body.get("kind", 0)
    if not isinstance(kind, int | str) or kind not in _KINDS:
        raise MalformedTraceError(f"{where}.kind: {kind!r} is neither 0 to 5 nor SPAN_KIND_<name>")
    return Span(
        trace_id=_id(body, "traceId", TRACE_ID_BYTES, where),
        span_id=_id(body, "spanId", SPAN_ID_BYTES, where),
        parent_id=_id(body, "parentSpanId", SPAN_ID_BYTES, where, optional=True),
        name=str(body.get("name", "")),
        kind=_KINDS[kind],
        service=service,
        start_ns=_time(body, "startTimeUnixNano", where),
        end_ns=_time(body, "endTimeUnixNano", where),
        attributes=_attributes(body.get("attributes", []), where),
    )


def _id(body: dict[str, Any], key: str, size: int, where: str, *, optional: bool = False) -> str:
    raw = body.get(key, "")
    if raw == "" and optional:
        return ""
    if isinstance(raw, str):
        # The lengths of hex and base64 differ for both sizes (32 and 24, 16 and 12), so no guess is needed.
        if len(raw) == 2 * size and _HEX.issuperset(raw):
            # An all-zero parent is how some exporters write "none".
            return "" if optional and not raw.strip("0") else raw.lower()
        try:
            decoded = base64.b64decode(raw, validate=True)
        except (binascii.Error, ValueError):
            decoded = b""
        if len(decoded) == size:
            return "" if optional and not any(decoded) else decoded.hex()
    raise MalformedTraceError(f"{where}.{key}: {raw!r} is neither {2 * size} hex digits nor base64 of {size} bytes")


def _time(body: dict[str, Any], key: str, where: str) -> int:
    raw = body.get(key)
    # A float has 53 bits and ns since 1970 need 61: it has lost the nanoseconds already.
    if isinstance(raw, str | int) and not isinstance(raw, bool):
        try:
            value = int(raw)
        except ValueError:
            value = 0
        if value > 0:
            return value
    raise MalformedTraceError(f"{where}.{key}: {raw!r} is not an integer, ns since 1970")


def _attributes(raw: Any, where: str) -> dict[str, AttributeValue]:
    attributes: dict[str, AttributeValue] = {}
    for i, entry in enumerate(_array(raw, f"{where}.attributes")):
        place = f"{where}.attributes[{i}]"
        pair = _object(entry, place)
        value = _object(pair.get("value", {}), f"{place}.value")
        key = pair.get("key")
        if not isinstance(key, str):
            raise MalformedTraceError(f"{place}.key: {key!r} is not a string")
        try:
            if "stringValue" in value:
                attributes[key] = str(value["stringValue"])
            elif "intValue" in value:
                attributes[key] = int(value["intValue"])
            elif "boolValue" in value:
                attributes[key] = bool(value["boolValue"])
            elif "doubleValue" in value:
                attributes[key] = float(value["doubleValue"])
        except (TypeError, ValueError) as error:
            raise MalformedTraceError(f"{place}.value: {value!r} does not have the type that its key names") from error
    return attributes


def _object(raw: Any, where: str) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise MalformedTraceError(f"{where}: expected an object, got {type(raw).__name__}")
    return raw


def _array(raw: Any, where: str) -> list[Any]:
    if raw is None:
        return []
    if not isinstance(raw, list):
        raise MalformedTraceError(f"{where}: expected an array, got {type(raw).__name__}")
    return raw


def _keys(body: dict[str, Any]) -> str:
    return ", ".join(sorted(body)[:5]) or "nothing"
