"""OTLP protobuf (`ExportTraceServiceRequest`, `TracesData`), and the Collector's files of length-prefixed messages."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from sys import intern
from typing import TYPE_CHECKING

from hops.errors import MalformedTraceError
from hops.sources.compressed import ZSTD
from hops.sources.decode_json import Faults, each
from hops.traces.otlp import KINDS, NEEDED, NO_ID, follows_only
from hops.traces.peers import lean
from hops.traces.span import FOLLOWS_FROM, MAX_NS, REF_TYPE, UNKNOWN_SERVICE, AttributeValue, Kind, Span, shown_name

if TYPE_CHECKING:
    from opentelemetry.proto.trace.v1 import trace_pb2

RESOURCE_SPANS = 0x0A
"""The first byte of a message with spans: field 1, with a length."""
_PREFIX = struct.Struct(">I")
_NO_ID = bytes(8)
_SCALARS = frozenset({"string_value", "int_value", "bool_value", "double_value"})


def read_messages(data: bytes | memoryview, where: str) -> Iterator[list[Span]]:
    """Reads the spans of one message, component by component.

    Raises:
        MalformedTraceError: The bytes are not such a message, are cut off, or contain an error; the message names the
            byte. Everything before the cut, and all other spans, were read before.
    """
    return each(_components(data, where), _read_component, "components")


def _components(data: bytes | memoryview, where: str) -> Iterator[tuple[bytes, str]]:
    """Splits a message into the bytes of each component, with their place."""
    at, size = 0, len(data)
    while at < size:
        began = at
        if data[at] != RESOURCE_SPANS:
            raise MalformedTraceError(f"{where}: not OTLP protobuf: unexpected field at byte {began:,}")
        length, at = _varint(data, at + 1, where)
        if at + length > size:
            raise MalformedTraceError(
                f"{where}: cut off: the message at byte {began:,} needs {at + length - size:,} more bytes"
            )
        yield bytes(data[at : at + length]), f"{where}, message at byte {began:,}"
        at += length


def _read_component(piece: tuple[bytes, str]) -> Iterator[list[Span]]:
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.trace.v1 import trace_pb2

    data, where = piece
    try:
        resource = trace_pb2.ResourceSpans.FromString(data)
    except DecodeError as error:
        raise MalformedTraceError(f"{where}: not OTLP protobuf: {error}") from error
    faults = Faults("spans")
    yield list(_spans(resource, where, faults))
    faults.tell(sum(len(scope.spans) for scope in resource.scope_spans))


def frames(data: bytes | memoryview, where: str) -> Iterator[tuple[memoryview, str]]:
    """Splits a Collector's file into messages, each after a 4-byte length, and adds the place of each message.

    Raises:
        MalformedTraceError: The last message is cut off.
    """
    view = memoryview(data)
    at = 0
    while at < len(view):
        if at + _PREFIX.size > len(view):
            raise MalformedTraceError(f"{where}: cut off in the length at byte {at:,}")
        (length,) = _PREFIX.unpack_from(view, at)
        body = at + _PREFIX.size
        if body + length > len(view):
            raise MalformedTraceError(
                f"{where}: cut off: the message at byte {at:,} has only {len(view) - body:,} of its {length:,} bytes"
            )
        yield view[body : body + length], f"{where}, message at byte {at:,}"
        at = body + length


def looks_framed(head: bytes, data: bytes | memoryview) -> bool:
    """Whether bytes begin with a length that fits the file, followed by a message or its compressed form."""
    if len(head) < _PREFIX.size + 4:
        return False
    (length,) = _PREFIX.unpack_from(head)
    if not 0 < length <= len(data) - _PREFIX.size or not (head[4] in (RESOURCE_SPANS, ord("{")) or head[4:8] == ZSTD):
        return False
    # The tag and the length of a message's first component look like a length of 160 MiB or more.
    return head[0] != RESOURCE_SPANS or not _is_message(data)


def _is_message(data: bytes | memoryview) -> bool:
    """Whether the first component of a message is followed by another component, or by the end."""
    length, at = _varint(data, 1, "")
    end = at + length
    return end == len(data) or (end < len(data) and data[end] == RESOURCE_SPANS)


def _varint(data: bytes | memoryview, at: int, where: str) -> tuple[int, int]:
    value = 0
    for shift in range(0, 63, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise MalformedTraceError(f"{where}: not OTLP protobuf: the length that ends at byte {at:,} is cut off or too long")


def _problem_of(span: trace_pb2.Span) -> str:
    """Explains why a span cannot be read, as a suffix to its name; empty if it can be read."""
    if len(span.trace_id) != 16 or len(span.span_id) != 8:
        return f": ids have {len(span.trace_id)} and {len(span.span_id)} bytes, not 16 and 8"
    if not any(span.trace_id) or not any(span.span_id):
        return f": {NO_ID}"
    if max(span.start_time_unix_nano, span.end_time_unix_nano) >= MAX_NS:
        return f" of trace {span.trace_id.hex()}: its times are impossible"
    return ""


def _ref_type(link: trace_pb2.Span.Link) -> str:
    return next((one.value.string_value for one in link.attributes if one.key == REF_TYPE), "")


def _spans(resource: trace_pb2.ResourceSpans, where: str, faults: Faults) -> Iterator[Span]:
    service = UNKNOWN_SERVICE
    for attribute in resource.resource.attributes:
        if attribute.key == "service.name" and attribute.value.string_value:
            service = shown_name(attribute.value.string_value)
    for scope in resource.scope_spans:
        for span in scope.spans:
            problem = _problem_of(span)
            if problem:
                faults.add(MalformedTraceError(f"{where}: span {span.name!r}{problem}"))
                continue
            parent = span.parent_span_id
            attributes: dict[str, AttributeValue] = {}
            for attribute in span.attributes:
                if attribute.key in NEEDED:
                    which = attribute.value.WhichOneof("value")
                    if which in _SCALARS:
                        attributes[attribute.key] = getattr(attribute.value, which)
            if span.links:
                links = [(link.span_id, _ref_type(link)) for link in span.links]
                if follows_only(parent if parent != _NO_ID else b"", links):
                    attributes[REF_TYPE] = FOLLOWS_FROM
            kind = KINDS[span.kind] if span.kind < len(KINDS) else Kind.UNSPECIFIED
            yield Span(
                intern(span.trace_id.hex()),
                span.span_id.hex(),
                parent.hex() if parent and parent != _NO_ID else "",
                shown_name(span.name),
                kind,
                service,
                span.start_time_unix_nano,
                span.end_time_unix_nano,
                lean(attributes, kind),
                tuple((one.trace_id.hex(), one.span_id.hex()) for one in span.links if one.trace_id and one.span_id)
                if span.links
                else (),
            )
