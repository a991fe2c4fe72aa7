"""Jaeger's JSON, as its UI downloads a trace and its older query API answers: times in microseconds."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import Raw

from hops.errors import MalformedTraceError
from hops.sources.read_json import each, read_one
from hops.traces.otlp import NEEDED, SPAN_ID_DIGITS, TRACE_ID_DIGITS
from hops.traces.span import MOST_NS, NO_ATTRIBUTES, UNKNOWN_SERVICE, AttributeValue, Kind, Span, shown_name

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
    processID: str = ""  # noqa: N815
    process: _Process | None = None


class _Trace(msgspec.Struct, gc=False):
    spans: list[_Span] | None = None
    traceID: str = ""  # noqa: N815
    processes: dict[str, _Process] | None = None


_TRACE = msgspec.json.Decoder(_Trace)
_SPAN = msgspec.json.Decoder(_Span)
_KINDS = {kind.value.lower(): kind for kind in Kind}


def read_data(traces: list[Raw], where: str) -> Iterator[list[Span]]:
    """The spans of each trace of an answer's `data`.

    Raises:
        MalformedTraceError: A value is missing or of another type; the message names its place. All other traces were
            read before.
    """
    places = ((raw, f"{where}.data[{index}]") for index, raw in enumerate(traces))
    return each(places, lambda piece: [read_trace(*piece)], "traces")


def read_trace(raw: Raw | memoryview | bytes, where: str) -> list[Span]:
    """The spans of one trace.

    Raises:
        MalformedTraceError: A value is missing or of another type; the message names its place.
    """
    trace = read_one(_TRACE, raw, where)
    names = {key: shown_name(process.service_name) for key, process in (trace.processes or {}).items()}
    ids: dict[str, str] = {}  # one text of each trace id, however many spans have it
    return [_span(span, trace.traceID, names, ids, where) for span in trace.spans or ()]


def read_span(raw: Raw | memoryview | bytes, where: str) -> Span:
    """A span that stands alone, with its process.

    Raises:
        MalformedTraceError: A value is missing or of another type; the message names its place.
    """
    return _span(read_one(_SPAN, raw, where), "", {}, {}, where)


def _span(span: _Span, trace_id: str, names: dict[str, str], ids: dict[str, str], where: str) -> Span:
    process = span.process
    service = names.get(span.processID, "") if process is None else shown_name(process.service_name)
    attributes: dict[str, AttributeValue] = {}
    kind = Kind.UNSPECIFIED
    for tag in span.tags or ():
        if tag.key == "span.kind":
            kind = _KINDS.get(str(tag.value).lower(), Kind.UNSPECIFIED)
        elif tag.key in NEEDED and tag.value is not None:
            attributes[tag.key] = tag.value
    raw_id = span.traceID or trace_id
    own_id = ids.get(raw_id) or ids.setdefault(raw_id, trace_id_of(raw_id))
    parent_id, links = _above(span, own_id)
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
        attributes or NO_ATTRIBUTES,
        links,
    )


def interval_ns(start_us: float, duration_us: float, what: str, span_id: str) -> tuple[int, int]:
    """Start and end of a span, ns.

    Args:
        start_us: Unix time, microseconds.
        duration_us: Microseconds.
        what: Of which place, for messages.
        span_id: Of which span there, likewise.

    Raises:
        MalformedTraceError: No clock shows such times.
    """
    if abs(start_us) + abs(duration_us) < MOST_NS // NS_PER_US:
        start_ns = round(start_us * NS_PER_US)
        return start_ns, start_ns + round(duration_us * NS_PER_US)
    raise MalformedTraceError(
        f"{what} {span_id}: starts at {start_us:,} µs and lasts {duration_us:,} µs, which is beyond all clocks; "
        "times are in microseconds, not nanoseconds"
    )


def _above(span: _Span, trace_id: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The parent: the first span of this trace that it is a child of, else the first that it follows; and the rest."""
    if not span.references:
        return (span_id_of(span.parentSpanID) if span.parentSpanID.strip("0") else ""), ()
    if len(span.references) == 1 and trace_id_of(span.references[0].traceID or trace_id) == trace_id:
        return span_id_of(span.references[0].spanID), ()
    references = [
        (one.refType != "CHILD_OF", trace_id_of(one.traceID or trace_id), span_id_of(one.spanID))
        for one in span.references
    ]
    ours = sorted((one for one in references if one[1] == trace_id), key=lambda one: one[0])
    parent_id = ours[0][2] if ours else ""
    return parent_id, tuple(one[1:] for one in references if one[2] != parent_id)


def trace_id_of(raw: str) -> str:
    """A trace id in 32 digits: Jaeger and Zipkin leave out leading zeros, and the upper half if there is none."""
    return raw.lower().rjust(TRACE_ID_DIGITS, "0")


def span_id_of(raw: str) -> str:
    """A span id in 16 digits, likewise."""
    return raw.lower().rjust(SPAN_ID_DIGITS, "0")
