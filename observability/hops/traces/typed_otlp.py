"""OTLP JSON in Jaeger's dialect, decoded in one typed pass.

The decoder checks types, times and the lengths of ids while it parses, and makes no dictionary of anything. It is
strict: what differs from this dialect in any way is left to `otlp.parse_document`, which knows the others, and names
the place of what is wrong.
"""

from __future__ import annotations

import binascii
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from hops.traces.span import AttributeValue, Kind, Span

NEEDED = frozenset(
    {
        "canceled",
        "db.system",
        "db.system.name",
        "response_flags",
        "shop.channel",
        "shop.injected_delay_took_ms",
        "shop.journey",
    }
)
"""Attributes that a budget needs. Spans have a dozen; the others would only take time and memory."""
KINDS = (Kind.UNSPECIFIED, Kind.INTERNAL, Kind.SERVER, Kind.CLIENT, Kind.PRODUCER, Kind.CONSUMER)
"""Kinds of spans by their numbers in OTLP."""
SPAN_ID_DIGITS = 16
_NO_SPAN_ID = "0" * SPAN_ID_DIGITS


class OtherDialectError(ValueError):
    """The document is not in Jaeger's dialect of OTLP JSON, or not sound."""


class _Value(msgspec.Struct, gc=False, rename="camel"):
    string_value: str | UnsetType = UNSET
    int_value: int | UnsetType = UNSET
    bool_value: bool | UnsetType = UNSET
    double_value: float | UnsetType = UNSET


class _Attribute(msgspec.Struct, gc=False):
    key: str
    value: _Value = msgspec.field(default_factory=_Value)


class _Span(msgspec.Struct, gc=False, rename="camel"):
    trace_id: Annotated[str, Meta(min_length=32, max_length=32)]
    span_id: Annotated[str, Meta(min_length=SPAN_ID_DIGITS, max_length=SPAN_ID_DIGITS)]
    start_time_unix_nano: Annotated[int, Meta(gt=0)]
    end_time_unix_nano: Annotated[int, Meta(gt=0)]
    parent_span_id: str = ""
    name: str = ""
    kind: Annotated[int, Meta(ge=0, lt=len(KINDS))] = 0
    attributes: list[_Attribute] = []


class _Resource(msgspec.Struct, gc=False):
    attributes: list[_Attribute] = []


class _ScopeSpans(msgspec.Struct, gc=False):
    spans: list[_Span] = []


class _ResourceSpans(msgspec.Struct, gc=False, rename="camel"):
    resource: _Resource
    scope_spans: list[_ScopeSpans] = []


class Document(msgspec.Struct, gc=False, rename="camel"):
    """One OTLP document, or Jaeger's answer with one inside."""

    result: Document | UnsetType = UNSET
    resource_spans: list[_ResourceSpans] | UnsetType = UNSET


_DECODER = msgspec.json.Decoder(Document, strict=False)
"""A decoder that is not strict: 64-bit integers come as strings or as numbers."""


def decode(text: bytes) -> Document:
    """Decodes one document.

    Raises:
        OtherDialectError: The document has values that this dialect has not, or is no JSON.
    """
    try:
        return _DECODER.decode(text)
    except msgspec.DecodeError as error:
        raise OtherDialectError(str(error)) from error


def spans_of(document: Document) -> list[Span]:
    """The spans of a document, with those of their attributes that a budget needs.

    Raises:
        OtherDialectError: An id is not in lower-case hex, or a component or the spans are missing.
    """
    body = document.result or document
    if body.resource_spans is UNSET:
        raise OtherDialectError("no resourceSpans")
    spans: list[Span] = []
    for resource_spans in body.resource_spans:
        service: str | UnsetType = UNSET
        for one in resource_spans.resource.attributes:
            if one.key == "service.name":
                service = one.value.string_value
        if service is UNSET or not service:
            raise OtherDialectError("no service.name")
        for scope_spans in resource_spans.scope_spans:
            spans += [
                Span(
                    span.trace_id,
                    span.span_id,
                    span.parent_span_id,
                    span.name,
                    KINDS[span.kind],
                    service,
                    span.start_time_unix_nano,
                    span.end_time_unix_nano,
                    _attributes(span.attributes) if span.attributes else {},
                )
                for span in scope_spans.spans
            ]
    _check_ids(spans)
    return spans


def _attributes(attributes: list[_Attribute]) -> dict[str, AttributeValue]:
    """Those that are needed and have a scalar value: no budget needs a list or a map."""
    kept: dict[str, AttributeValue] = {}
    for one in attributes:
        if one.key in NEEDED:
            value = one.value
            for scalar in (value.string_value, value.int_value, value.bool_value, value.double_value):
                if scalar is not UNSET:
                    kept[one.key] = scalar
                    break
    return kept


def _check_ids(spans: list[Span]) -> None:
    ids = [span.span_id for span in spans]
    elsewhere = {span.parent_id for span in spans}.difference(ids, ("",))
    if any(len(span_id) != SPAN_ID_DIGITS for span_id in elsewhere) or _NO_SPAN_ID in elsewhere:
        raise OtherDialectError("a parent's id of another length, or of zeros")
    digits = "".join((*ids, *elsewhere, *{span.trace_id for span in spans}))
    try:
        binascii.unhexlify(digits)
    except ValueError as error:
        raise OtherDialectError(str(error)) from error
    if digits != digits.lower():
        raise OtherDialectError("an id in upper case")
