"""OTLP JSON to spans: Jaeger's api_v3 answers and files of OTLP JSON lines.

Writers differ: the OTLP specification wants ids in hex and 64-bit integers as strings, plain protobuf JSON has ids in
base64, and both allow numbers and names for enums. All of these are read in one typed pass, which builds no
dictionaries and names the place of an error. Ids that are not in lower-case hex take a second pass.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from sys import intern
from typing import Annotated, AnyStr, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from hops.errors import MalformedTraceError
from hops.traces.local_work import LOCAL_WORK
from hops.traces.peers import PEERS, PROXY_MARKS, lean
from hops.traces.span import (
    FOLLOWS_FROM,
    MAX_NS,
    NO_ATTRIBUTES,
    REF_TYPE,
    UNKNOWN_SERVICE,
    AttributeValue,
    Kind,
    Span,
    shown_name,
)
from hops.traces.typed_json import read_one

#: Attributes that a budget needs. Spans have a dozen; the others would only cost time and memory.
NEEDED = frozenset(
    {
        *LOCAL_WORK,
        *PEERS,
        *PROXY_MARKS,
        "canceled",
        "db.system",
        "db.system.name",
        "db.type",
        "grpc.message",
        "load.channel",
        "load.journey",
        "messaging.system",
        "opentracing.ref_type",
        "response_flags",
        "rpc.system",
        "shop.channel",
        "shop.edge_cache",
        "shop.injected_delay_took_ms",
        "shop.loop.busy_ms",
        "shop.loop.rested_ms",
        "shop.journey",
    }
)
#: Kinds of spans, in the order of their numbers in OTLP.
KINDS = (Kind.UNSPECIFIED, Kind.INTERNAL, Kind.SERVER, Kind.CLIENT, Kind.PRODUCER, Kind.CONSUMER)
TRACE_ID_DIGITS, SPAN_ID_DIGITS = 32, 16

_NAMES = tuple(f"SPAN_KIND_{kind.value}" for kind in KINDS)
_KINDS: dict[int | str, Kind] = dict(enumerate(KINDS)) | dict(zip(_NAMES, KINDS, strict=True))
NO_ID = "an all-zero id is not valid: every span whose id was lost has this id"
_NO_SPAN_ID, _NO_TRACE_ID = "0" * SPAN_ID_DIGITS, "0" * TRACE_ID_DIGITS
_FROM_URL_SAFE = str.maketrans("-_", "+/")


_Moment = Annotated[int, Meta(gt=0, le=MAX_NS - 1)]
_End = Annotated[int, Meta(ge=0, le=MAX_NS - 1)]
"""0 for an unfinished span."""
_ProtobufName = Literal["refused"]
"""Type of members in snake_case, protobuf's own names, which its JSON also allows. No value has this type, so they are
refused, not skipped; `sources.otlp_json` then reads the component again with all names in camelCase."""


class _Value(msgspec.Struct, gc=False, rename="camel"):
    string_value: str | UnsetType = UNSET
    int_value: int | UnsetType = UNSET
    bool_value: bool | UnsetType = UNSET
    double_value: float | UnsetType = UNSET
    string_: _ProtobufName | UnsetType = msgspec.field(name="string_value", default=UNSET)
    int_: _ProtobufName | UnsetType = msgspec.field(name="int_value", default=UNSET)
    bool_: _ProtobufName | UnsetType = msgspec.field(name="bool_value", default=UNSET)
    double_: _ProtobufName | UnsetType = msgspec.field(name="double_value", default=UNSET)


class _Attribute(msgspec.Struct, gc=False):
    key: str
    value: _Value = msgspec.field(default_factory=_Value)


class _Link(msgspec.Struct, gc=False, rename="camel"):
    trace_id: str = ""
    span_id: str = ""
    attributes: list[_Attribute] | None = None
    trace_: _ProtobufName | UnsetType = msgspec.field(name="trace_id", default=UNSET)


class _Span(msgspec.Struct, gc=False, rename="camel"):
    trace_id: str
    span_id: str
    start_time_unix_nano: _Moment
    end_time_unix_nano: _End = 0
    parent_span_id: str | None = ""
    name: str | None = ""
    kind: Literal[
        0, 1, 2, 3, 4, 5, "SPAN_KIND_UNSPECIFIED", "SPAN_KIND_INTERNAL", "SPAN_KIND_SERVER", "SPAN_KIND_CLIENT",
        "SPAN_KIND_PRODUCER", "SPAN_KIND_CONSUMER"
    ] = 0  # fmt: skip
    attributes: list[_Attribute] | None = []
    links: list[_Link] | None = None
    parent_: _ProtobufName | UnsetType = msgspec.field(name="parent_span_id", default=UNSET)


class _Resource(msgspec.Struct, gc=False):
    attributes: list[_Attribute] | None = []


class _ScopeSpans(msgspec.Struct, gc=False):
    spans: list[_Span] | None = []


class ResourceSpans(msgspec.Struct, gc=False, rename="camel"):
    """Spans of one component."""

    resource: _Resource = msgspec.field(default_factory=_Resource)
    scope_spans: list[_ScopeSpans] | None = []
    instrumentation_library_spans: list[_ScopeSpans] | None = []
    scopes_: _ProtobufName | UnsetType = msgspec.field(name="scope_spans", default=UNSET)
    libraries_: _ProtobufName | UnsetType = msgspec.field(name="instrumentation_library_spans", default=UNSET)

    @property
    def scopes(self) -> list[_ScopeSpans]:
        """The component's spans by scope, also under the name that scopes had in OTLP until version 0.15."""
        return [*(self.scope_spans or ()), *(self.instrumentation_library_spans or ())]


class Document(msgspec.Struct, gc=False, rename="camel"):
    """One OTLP document, or an answer from Jaeger around such a document."""

    result: Document | UnsetType = UNSET
    resource_spans: list[ResourceSpans] | UnsetType | None = UNSET


# Not strict: 64-bit integers come as strings or as numbers.
DECODER = msgspec.json.Decoder(Document, strict=False)
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read_spans(text: bytes, *, where: str = "OTLP JSON") -> list[Span]:
    """Reads the spans of one document, in its order, with the attributes that a budget needs.

    Raises:
        NotJsonError: The text is not JSON.
        MalformedTraceError: A value is missing or of another type; the message names its place in the document.
    """
    document = read_one(DECODER, text, where)
    if document.result is UNSET and document.resource_spans is UNSET:
        members = read_one(_OBJECT, text, where)
        keys = ", ".join(sorted(members)[:5]) or "nothing"
        raise MalformedTraceError(f"{where}: has no `resourceSpans` (it has: {keys})")
    return spans_of(document, where=where)


def spans_of(document: Document, *, where: str = "OTLP JSON") -> list[Span]:
    """Reads the spans of a document; raises `MalformedTraceError` if their list is missing or an id is wrong."""
    body = document
    if body.result is not UNSET:
        body, where = body.result, f"{where}.result"
    if body.resource_spans is UNSET:
        raise MalformedTraceError(f"{where}: has no `resourceSpans`")
    return [
        span
        for index, resource_spans in enumerate(body.resource_spans or ())
        for span in spans_of_one(resource_spans, f"{where}.resourceSpans[{index}]")
    ]


def spans_of_one(resource_spans: ResourceSpans, where: str) -> list[Span]:
    """Reads the spans of one component, as `spans_of` does."""
    service = UNKNOWN_SERVICE
    for one in resource_spans.resource.attributes or ():
        if one.key == "service.name" and one.value.string_value:
            service = shown_name(one.value.string_value)
    spans: list[Span] = []
    for scope_spans in resource_spans.scopes:
        spans += [
            Span(
                intern(span.trace_id),
                span.span_id,
                span.parent_span_id or "",
                shown_name(span.name or ""),
                _KINDS[span.kind],
                service,
                span.start_time_unix_nano,
                span.end_time_unix_nano,
                lean(_attributes_of(span), _KINDS[span.kind]) if span.attributes or span.links else NO_ATTRIBUTES,
                tuple((one.trace_id, one.span_id) for one in span.links if one.trace_id and one.span_id)
                if span.links
                else (),
            )
            for span in scope_spans.spans or ()
        ]
    if _has_plain_ids(spans):
        return spans
    places = (
        f"{where}.scopeSpans[{j}].spans[{k}]"
        for j, scope_spans in enumerate(resource_spans.scopes)
        for k in range(len(scope_spans.spans or ()))
    )
    return [_with_plain_ids(span, place) for span, place in zip(spans, places, strict=True)]


def follows_only(parent: AnyStr, links: Iterable[tuple[AnyStr, object]]) -> bool:
    """Whether the links of a span say that it only follows its parent or, if it has no parent, the linked span.

    Args:
        parent: Id of the parent; empty without a parent.
        links: Id of each linked span, and the value of the link's `opentracing.ref_type`.
    """
    types = {str(kind).lower() for span_id, kind in links if kind and parent in (span_id, span_id[:0])}
    return types == {FOLLOWS_FROM}


def _attributes_of(span: _Span) -> dict[str, AttributeValue]:
    kept = _attributes(span.attributes or [])
    if span.links:
        links = [(link.span_id, _attributes(link.attributes or []).get(REF_TYPE)) for link in span.links]
        if follows_only(span.parent_span_id or "", links):
            kept[REF_TYPE] = FOLLOWS_FROM
    return kept


def _attributes(attributes: list[_Attribute]) -> dict[str, AttributeValue]:
    """Selects the needed attributes with scalar values; budgets need no lists and maps."""
    kept: dict[str, AttributeValue] = {}
    for one in attributes:
        if one.key in NEEDED:
            value = one.value
            for scalar in (value.string_value, value.int_value, value.bool_value, value.double_value):
                if scalar is not UNSET:
                    kept[one.key] = scalar
                    break
    return kept


def _has_plain_ids(spans: list[Span]) -> bool:
    """Whether all ids are in lower-case hex, and no parent id is all zeros."""
    span_ids, parents = {span.span_id for span in spans}, {span.parent_id for span in spans}
    parents.discard("")
    span_ids |= parents
    trace_ids = {span.trace_id for span in spans}
    for span in spans:
        for linked_trace, linked_span in span.links:
            trace_ids.add(linked_trace)
            span_ids.add(linked_span)
    digits = "".join((*span_ids, *trace_ids))
    try:
        binascii.unhexlify(digits)
    except ValueError:
        return False
    lengths = {*map(len, span_ids)}, {*map(len, trace_ids)}
    if _NO_SPAN_ID in span_ids or _NO_TRACE_ID in trace_ids:
        return False
    return lengths == ({SPAN_ID_DIGITS}, {TRACE_ID_DIGITS}) and digits == digits.lower()


def _with_plain_ids(span: Span, where: str) -> Span:
    parent_id = span.parent_id and plain_id(span.parent_id, SPAN_ID_DIGITS, f"{where}.parentSpanId")
    trace_id = plain_id(span.trace_id, TRACE_ID_DIGITS, f"{where}.traceId")
    span_id = plain_id(span.span_id, SPAN_ID_DIGITS, f"{where}.spanId")
    if trace_id == _NO_TRACE_ID or span_id == _NO_SPAN_ID:
        raise MalformedTraceError(f"{where}: {NO_ID}")
    return replace(
        span,
        trace_id=trace_id,
        span_id=span_id,
        # Some exporters write an all-zero parent id for "no parent".
        parent_id="" if parent_id == _NO_SPAN_ID else parent_id,
        links=tuple(
            (plain_id(link[0], TRACE_ID_DIGITS, f"{where}.links"), plain_id(link[1], SPAN_ID_DIGITS, f"{where}.links"))
            for link in span.links
        ),
    )


def plain_id(raw: str, digits: int, where: str) -> str:
    """Converts an id to lower-case hex.

    Args:
        raw: Hex, or any of the forms of base64 that protobuf allows: with or without padding, URL-safe or not. The
            lengths of base64 differ from the lengths of hex, for both kinds of ids.

    Raises:
        MalformedTraceError: The id is neither hex nor base64.
    """
    try:
        if len(raw) == digits:
            decoded = bytes.fromhex(raw)
        else:
            padded = raw.rstrip("=") + "=" * (-len(raw.rstrip("=")) % 4)
            decoded = base64.b64decode(padded.translate(_FROM_URL_SAFE), validate=True)
    except ValueError:
        decoded = b""
    if 2 * len(decoded) != digits:
        size = digits // 2
        raise MalformedTraceError(f"{where}: {raw!r} is neither {digits} hex digits nor base64 of {size} bytes")
    return decoded.hex()
