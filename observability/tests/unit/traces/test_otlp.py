"""OTLP JSON in the dialects that writers use, and the messages about broken input."""

from __future__ import annotations

import base64
import json
from operator import attrgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hops.errors import MalformedTraceError
from hops.traces import otlp
from hops.traces.otlp import NEEDED, read_spans
from hops.traces.span import Kind
from synthetic.traces import otlp_document, shop_trace

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
SPAN_ID = "b7ad6b7169203331"
PARENT_ID = "00f067aa0ba902b7"


def b64(hex_id):
    return base64.b64encode(bytes.fromhex(hex_id)).decode()


def span(**changes):
    return {
        "traceId": TRACE_ID,
        "spanId": SPAN_ID,
        "name": "GET",
        "kind": 3,
        "startTimeUnixNano": "1767225600123456789",
        "endTimeUnixNano": "1767225600123456799",
        "attributes": [
            {"key": "http.response.status_code", "value": {"intValue": "200"}},
            {"key": "shop.injected_delay_took_ms", "value": {"intValue": "5"}},
            {"key": "canceled", "value": {"boolValue": True}},
            {"key": "shop.journey", "value": {"arrayValue": {"values": []}}},
        ],
    } | changes


def document(*spans, service="edge"):
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": list(spans)}]}]}


def read(one):
    return read_spans(json.dumps(one).encode(), where="file")


def test_nanoseconds_and_the_attributes_that_a_budget_needs_are_kept():
    (found,) = read(document(span()))
    assert (found.start_ns, found.end_ns) == (1767225600123456789, 1767225600123456799)
    assert found.attributes == {"shop.injected_delay_took_ms": 5, "canceled": True}
    assert (found.service, found.kind, found.parent_id) == ("edge", Kind.CLIENT, "")


@given(seed=st.integers(0, 2**32), spans=st.integers(6, 60), mesh=st.booleans(), in_result=st.booleans())
def test_what_is_written_reads_the_same(seed, spans, mesh, in_result):
    trace = shop_trace(seed, spans, mesh=mesh)
    found = read({"result": otlp_document(trace)} if in_result else otlp_document(trace))
    kept = [
        replace(one, attributes={key: str(value) for key, value in one.attributes.items() if key in NEEDED})
        for one in trace
    ]
    # The document groups them by component.
    assert sorted(found, key=attrgetter("span_id")) == sorted(kept, key=attrgetter("span_id"))


DIALECTS = {
    "ids in base64": {"traceId": b64(TRACE_ID), "spanId": b64(SPAN_ID), "parentSpanId": b64(PARENT_ID)},
    "upper-case hex": {"traceId": TRACE_ID.upper(), "parentSpanId": PARENT_ID.upper()},
    "kind by name": {"kind": "SPAN_KIND_CLIENT"},
    "numbers as numbers": {"startTimeUnixNano": 1767225600123456789},
    "no attributes": {"attributes": None},
    "more than a budget needs": {"flags": 257, "traceState": "", "status": {}, "events": [{"name": "x"}]},
}


@pytest.mark.parametrize("changes", DIALECTS.values(), ids=DIALECTS)
def test_dialects_read_the_same(changes):
    (found,) = read({"result": document(span(**{"parentSpanId": PARENT_ID} | changes))})
    assert (found.trace_id, found.span_id, found.parent_id) == (TRACE_ID, SPAN_ID, PARENT_ID)
    assert (found.kind, found.start_ns) == (Kind.CLIENT, 1767225600123456789)


@pytest.mark.parametrize("name", [kind.value for kind in Kind])
def test_every_kind_reads_by_its_name_and_its_number(name):
    by_name, by_number = (
        read(document(span(kind=kind)))[0].kind for kind in (f"SPAN_KIND_{name}", otlp.KINDS.index(Kind(name)))
    )
    assert by_name is by_number is Kind(name)


@pytest.mark.parametrize("none", ["", "0" * 16, b64("0" * 16)])
def test_a_root_has_no_parent_however_that_is_written(none):
    (found,) = read(document(span(parentSpanId=none)))
    assert found.parent_id == ""


@pytest.mark.parametrize("attributes", [[], [{"key": "service.name", "value": {"intValue": "5"}}]], ids=str)
def test_spans_without_a_service_belong_to_the_unknown_one(attributes):
    (found,) = read({"resourceSpans": [{"resource": {"attributes": attributes}, "scopeSpans": [{"spans": [span()]}]}]})
    assert found.service == "unknown_service"


def test_links_are_kept():
    (found,) = read(document(span(links=[{"traceId": b64(TRACE_ID), "spanId": PARENT_ID.upper()}])))
    assert found.links == ((TRACE_ID, PARENT_ID),)


@pytest.mark.parametrize("empty", [{"resourceSpans": None}, {"resourceSpans": []}, document()], ids=str)
def test_a_document_may_have_no_spans(empty):
    assert read(empty) == []


BROKEN = {
    "an array": ([], "file: Expected `object`, got `array`"),
    "another answer": ({"data": []}, "file: has no `resourceSpans` (it has: data)"),
    "an empty answer": ({"result": {}}, "file.result: has no `resourceSpans`"),
    "spans no array": ({"resourceSpans": {"a": 1}}, "file.resourceSpans: Expected `array | null`, got `object`"),
    "short id": (document(span(spanId="abc")), "spans[0].spanId: 'abc' is neither 16 hex digits nor base64 of 8"),
    "no hex": (document(span(), span(spanId="g" * 16)), "scopeSpans[0].spans[1].spanId: 'gggg"),
    "trace id of zeros": (document(span(traceId="0" * 32)), "spans[0]: an all-zero id is not valid"),
    "id of zeros": (document(span(), span(spanId="AAAAAAAAAAA=")), "spans[1]: an all-zero id is not valid"),
    "empty trace id": (document(span(traceId="")), "spans[0].traceId: '' is neither"),
    "time as float": (document(span(endTimeUnixNano=1.7e18)), "spans[0].endTimeUnixNano: Expected `int`, got `float`"),
    "time as words": (document(span(endTimeUnixNano="x")), "spans[0].endTimeUnixNano: Expected `int`, got `str`"),
    "time of zero": (document(span(startTimeUnixNano="0")), "startTimeUnixNano: Expected `int` >= 1"),
    "time missing": (document(span(startTimeUnixNano=None)), "startTimeUnixNano: Expected `int`, got `null`"),
    "kind": (document(span(kind="CLIENTE")), "spans[0].kind: Invalid enum value 'CLIENTE'"),
    "kind of six": (document(span(kind=6)), "spans[0].kind: Invalid enum value 6"),
    "attribute": (
        document(span(attributes=[{"key": "a", "value": {"intValue": "x"}}])),
        "spans[0].attributes[0].value.intValue: Expected `int`, got `str`",
    ),
}


@pytest.mark.parametrize(("broken", "message"), BROKEN.values(), ids=BROKEN)
def test_broken_input_is_named(broken, message):
    with pytest.raises(MalformedTraceError) as caught:
        read(broken)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, "not JSON") for text in (b"", b"{", b'{"resourceSpans": [', b'{"resourceSpans": []} x')),
        (b'{"resourceSpans": [NaN]}', "not JSON"), (b'{"\xff": 1}', "not UTF-8"),
        (b"5", "Expected `object`"), (b"null", "Expected `object`"),
    ],
)  # fmt: skip
def test_a_text_that_is_no_object_of_strict_json_is_refused(text, message):
    with pytest.raises(MalformedTraceError, match=f"file:7: {message}"):
        read_spans(text, where="file:7")


def test_ids_of_jaeger_are_read_without_a_second_look(monkeypatch):
    """Hex in lower case, as Jaeger writes it; if this fails, reading is still correct, but several times slower."""
    monkeypatch.setattr(otlp, "_with_plain_ids", None)
    assert len(read(otlp_document(shop_trace(3)))) == len(shop_trace(3))
