"""Jaeger's JSON, in its two forms.

The first is used by Jaeger's UI, its older query API and its Elasticsearch storage: ids in hex, times in microseconds.
The second is the JSON form of its protobuf messages, used in Kafka with `encoding: json`: ids in base64, times as
RFC 3339, durations as "0.100s".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from hops.errors import MalformedTraceError, printable
from hops.sources.decode_json import camel_case, each
from hops.traces.otlp import NEEDED, SPAN_ID_DIGITS, TRACE_ID_DIGITS, plain_id
from hops.traces.peers import lean
from hops.traces.span import FOLLOWS_FROM, MAX_NS, REF_TYPE, UNKNOWN_SERVICE, AttributeValue, Kind, Span, shown_name
from hops.traces.typed_json import NotJsonError, read_one

NS_PER_US = 1000


class _Tag(msgspec.Struct, gc=False):
    key: str
    value: str | int | float | bool | None = None


class _Process(msgspec.Struct, gc=False, rename="camel"):
    service_name: str = ""


class _Reference(msgspec.Struct, gc=False):
    spanID: str  # noqa: N815  as Jaeger spells it
    traceID: str = ""  # noqa: N815
    refType: str = "CHILD_OF"  # noqa: N815


class _Span(msgspec.Struct, gc=False):
    spanID: str  # noqa: N815
    startTime: int | float  # noqa: N815
    duration: int | float
    traceID: str = ""  # noqa: N815
    operationName: str = ""  # noqa: N815
    parentSpanID: str = ""  # noqa: N815
    references: list[_Reference] | None = None
    tags: list[_Tag] | None = None
    tag: dict[str, Any] | None = None
    """Tags stored as Elasticsearch fields, in whose names another character replaces each dot."""
    processID: str = ""  # noqa: N815
    process: _Process | None = None


class _Trace(msgspec.Struct, gc=False):
    spans: list[_Span] | None = None
    traceID: str = ""  # noqa: N815
    processes: dict[str, _Process] | None = None


class _ProtoTag(msgspec.Struct, gc=False, rename="camel"):
    key: str = ""
    v_type: str | int = "STRING"
    v_str: str | None = None
    v_bool: bool | None = None
    v_int64: int | None = None
    v_float64: float | None = None


class _ProtoReference(msgspec.Struct, gc=False, rename="camel"):
    trace_id: str = ""
    span_id: str = ""
    ref_type: str | int = "CHILD_OF"


class _ProtoSpan(msgspec.Struct, gc=False, rename="camel"):
    """A span in protobuf's JSON, which may leave out members that are 0 or empty."""

    trace_id: str = ""
    span_id: str | UnsetType = UNSET
    operation_name: str = ""
    references: list[_ProtoReference] | None = None
    start_time: Raw = Raw(b"null")
    duration: Raw = Raw(b'"0s"')
    tags: list[_ProtoTag] | None = None
    process: _Process | None = None
    process_id: str = ""


class _ProtoProcess(msgspec.Struct, gc=False, rename="camel"):
    process_id: str
    process: _Process


class _ProtoTrace(msgspec.Struct, gc=False, rename="camel"):
    """A batch, which has one process; or a trace, which has many."""

    spans: list[_ProtoSpan] | None = None
    process: _Process | None = None
    process_map: list[_ProtoProcess] | None = None


_TRACE = msgspec.json.Decoder(_Trace)
_SPAN = msgspec.json.Decoder(_Span)
_PROTO_SPAN = msgspec.json.Decoder(_ProtoSpan, strict=False)
_PROTO_TRACE = msgspec.json.Decoder(_ProtoTrace, strict=False)
_KINDS = {kind.value.lower(): kind for kind in Kind}
_KIND = "span.kind"
_SEPARATORS = re.compile(r"[\W_]+")
_BY_LETTERS = {_SEPARATORS.sub("", name): name for name in (*NEEDED, _KIND)}
"""Names of the tags that are read, by the name reduced to its letters and digits."""
_V_TYPES = {1: "BOOL", 2: "INT64", 3: "FLOAT64", 4: "BINARY"}
_REF_TYPES = {0: "CHILD_OF", 1: "FOLLOWS_FROM"}
_RFC_3339 = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?([Zz]|[+-]\d\d:\d\d)")
_DURATION = re.compile(r"(-?)(\d{1,12})(?:\.(\d{1,9}))?s")
_NS_PER_S = 1_000_000_000


def read_data(traces: list[Raw], where: str) -> Iterator[list[Span]]:
    """Reads the spans of each trace of an answer's `data`.

    Raises:
        MalformedTraceError: A value is missing or has a wrong type; the message names its place. All other traces were
            read before.
    """
    places = ((raw, f"{where}.data[{index}]") for index, raw in enumerate(traces))
    return each(places, lambda piece: [read_trace(*piece)], "traces")


def read_trace(raw: Raw | memoryview | bytes, where: str) -> list[Span]:
    """Reads the spans of one trace; raises `MalformedTraceError` as `read_data` does."""
    try:
        trace = read_one(_TRACE, raw, where)
    except NotJsonError:
        raise
    except MalformedTraceError:
        proto = read_one(_PROTO_TRACE, camel_case(raw) or raw, where)
        if any(span.span_id is UNSET for span in proto.spans or ()):
            raise
        return _proto_spans(proto, where)
    names = {key: shown_name(process.service_name) for key, process in (trace.processes or {}).items()}
    ids: dict[str, str] = {}  # one string per trace id, shared by all its spans
    return [_span(span, trace.traceID, names, ids, where) for span in trace.spans or ()]


def read_span(raw: Raw | memoryview | bytes, where: str) -> Span:
    """Reads a single span, with its process; raises `MalformedTraceError` as `read_data` does."""
    return _span(read_one(_SPAN, raw, where), "", {}, {}, where)


def read_proto_span(raw: Raw | memoryview | bytes, where: str) -> Span:
    """Reads a single span in protobuf's JSON; raises `MalformedTraceError` as `read_data` does."""
    (span,) = _proto_spans(_ProtoTrace([read_one(_PROTO_SPAN, camel_case(raw) or raw, where)]), where)
    return span


def _proto_spans(trace: _ProtoTrace, where: str) -> list[Span]:
    processes = {one.process_id: one.process for one in trace.process_map or ()}
    ids: dict[str, str] = {}
    spans = []
    for span in trace.spans or ():
        span_id = plain_id(span.span_id or "", SPAN_ID_DIGITS, f"{where}: spanId")
        same = _Span(
            span_id,
            0,
            0,
            plain_id(span.trace_id, TRACE_ID_DIGITS, f"{where}: traceId of span {span_id}"),
            span.operation_name,
            references=[
                _Reference(
                    plain_id(one.span_id, SPAN_ID_DIGITS, f"{where}: references of span {span_id}"),
                    plain_id(one.trace_id, TRACE_ID_DIGITS, f"{where}: references of span {span_id}"),
                    _REF_TYPES.get(one.ref_type, "CHILD_OF") if isinstance(one.ref_type, int) else one.ref_type,
                )
                for one in span.references or ()
            ],
            tags=[_Tag(tag.key, _value(tag)) for tag in span.tags or ()],
            process=span.process or processes.get(span.process_id) or trace.process or _Process(),
        )
        place = f"{where}: span {span_id}"
        start_ns = _moment_ns(span.start_time, place)
        end_ns = start_ns + _duration_ns(span.duration, place)
        if max(abs(start_ns), abs(end_ns)) >= MAX_NS:
            raise MalformedTraceError(f"{place}: starts at {_text(span.start_time)}, which is an impossible time")
        spans.append(msgspec.structs.replace(_span(same, "", {}, ids, where), start_ns=start_ns, end_ns=end_ns))
    return spans


def _value(tag: _ProtoTag) -> str | int | float | bool | None:
    kind = _V_TYPES.get(tag.v_type, "STRING") if isinstance(tag.v_type, int) else tag.v_type
    values = {"STRING": tag.v_str, "BOOL": tag.v_bool, "INT64": tag.v_int64, "FLOAT64": tag.v_float64}
    if values.get(kind) is not None or kind not in values:
        return values.get(kind)
    return next((value for value in values.values() if value is not None), None)


def _moment_ns(raw: Raw, place: str) -> int:
    moment = _RFC_3339.fullmatch(_text(raw))
    try:
        if moment is None:
            raise ValueError
        day, clock, fraction, zone = moment.groups()
        whole = datetime.fromisoformat(f"{day}T{clock}{'+00:00' if zone in 'Zz' else zone}")
        return int(whole.timestamp()) * _NS_PER_S + int((fraction or "").ljust(9, "0"))
    except ValueError as error:
        raise MalformedTraceError(
            f"{place}: startTime is {_text(raw)}, not a time such as 2026-05-01T12:00:00.123456789Z"
        ) from error


def _duration_ns(raw: Raw, place: str) -> int:
    duration = _DURATION.fullmatch(_text(raw))
    if duration is None:
        raise MalformedTraceError(f"{place}: duration is {_text(raw)}, not seconds such as 0.100s")
    sign, seconds, fraction = duration.groups()
    return int(f"{sign}{int(seconds) * _NS_PER_S + int((fraction or '').ljust(9, '0'))}")


def _text(raw: Raw) -> str:
    return bytes(raw).decode().strip('"')


def _fields(tags: Mapping[str, Any], above: str = "") -> Iterator[_Tag]:
    """Reads tags from Elasticsearch's fields; names with dots may have become objects there."""
    for key, value in tags.items():
        if isinstance(value, dict):
            yield from _fields(value, f"{above}{key}.")
        elif isinstance(value, str | int | float | bool):
            name = above + key
            yield _Tag(_BY_LETTERS.get(_SEPARATORS.sub("", name), name), value)


def _span(span: _Span, trace_id: str, names: dict[str, str], ids: dict[str, str], where: str) -> Span:
    process = span.process
    service = names.get(span.processID, "") if process is None else shown_name(process.service_name)
    attributes: dict[str, AttributeValue] = {}
    kind = Kind.UNSPECIFIED
    for tag in [*_fields(span.tag), *(span.tags or ())] if span.tag else span.tags or ():
        if tag.key == _KIND:
            kind = _KINDS.get(str(tag.value).lower(), Kind.UNSPECIFIED)
        elif tag.key in NEEDED and tag.value is not None:
            attributes[tag.key] = tag.value
    raw_id = span.traceID or trace_id
    own_id = ids.get(raw_id) or ids.setdefault(raw_id, trace_id_of(raw_id))
    parent_id, links, is_waited_for = _above(span, own_id)
    if not is_waited_for:
        attributes[REF_TYPE] = FOLLOWS_FROM
    start_ns, end_ns = interval_ns(span.startTime, span.duration, f"{where}: span", span.spanID)
    return Span(
        own_id,
        span_id_of(span.spanID),
        parent_id,
        shown_name(span.operationName),
        kind,
        service or UNKNOWN_SERVICE,
        start_ns,
        end_ns,
        lean(attributes, kind),
        links,
    )


def interval_ns(start_us: float, duration_us: float, what: str, span_id: str) -> tuple[int, int]:
    """Computes start and end of a span, ns; raises `MalformedTraceError` if no clock shows such times."""
    if abs(start_us) + abs(duration_us) < MAX_NS // NS_PER_US:
        start_ns = round(start_us * NS_PER_US)
        return start_ns, start_ns + round(duration_us * NS_PER_US)
    raise MalformedTraceError(
        f"{what} {span_id}: starts at {start_us:,} µs and lasts {duration_us:,} µs, which is impossible; "
        "times are in microseconds, not nanoseconds"
    )


def _above(span: _Span, trace_id: str) -> tuple[str, tuple[tuple[str, str], ...], bool]:
    """Gives the parent among a span's references, the other references, and whether the parent waits for the span.

    The parent is the first span of this trace that the span is a child of, else the first that the span follows.
    """
    if not span.references:
        return (span_id_of(span.parentSpanID) if span.parentSpanID.strip("0") else ""), (), True
    if len(span.references) == 1 and trace_id_of(span.references[0].traceID or trace_id) == trace_id:
        return span_id_of(span.references[0].spanID), (), span.references[0].refType.lower() != FOLLOWS_FROM
    references = [
        (one.refType.lower() == FOLLOWS_FROM, trace_id_of(one.traceID or trace_id), span_id_of(one.spanID))
        for one in span.references
    ]
    ours = sorted((one for one in references if one[1] == trace_id), key=lambda one: one[0])
    follows_it, _, parent_id = ours[0] if ours else (False, "", "")
    return parent_id, tuple(one[1:] for one in references if one[2] != parent_id), not follows_it


def trace_id_of(raw: str) -> str:
    """Pads a trace id to 32 digits: Jaeger and Zipkin drop leading zeros, and the upper half if it is zero.

    An id may be any text, which a terminal must not obey.
    """
    return printable(raw).lower().rjust(TRACE_ID_DIGITS, "0")


def span_id_of(raw: str) -> str:
    """Pads a span id to 16 digits, because Jaeger and Zipkin drop leading zeros."""
    return raw.lower().rjust(SPAN_ID_DIGITS, "0")
