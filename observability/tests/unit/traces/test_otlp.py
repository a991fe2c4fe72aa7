"""OTLP JSON in the dialects that writers use, and what is said of broken input."""

from __future__ import annotations

import base64
import json

import pytest

from hops.errors import MalformedTraceError
from hops.traces.otlp import parse_document, read_file
from hops.traces.span import Kind

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
SPAN_ID = "b7ad6b7169203331"


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
            {"key": "shop.sampled", "value": {"boolValue": True}},
            {"key": "tags", "value": {"arrayValue": {"values": []}}},
        ],
    } | changes


def document(*spans, service="edge"):
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": list(spans)}]}]}


def test_nanoseconds_and_attributes_are_kept():
    (found,) = parse_document(document(span()))
    assert (found.start_ns, found.end_ns) == (1767225600123456789, 1767225600123456799)
    assert found.attributes == {"http.response.status_code": 200, "shop.sampled": True}
    assert (found.service, found.kind, found.parent_id) == ("edge", Kind.CLIENT, "")


DIALECTS = {
    "ids in base64": {"traceId": b64(TRACE_ID), "spanId": b64(SPAN_ID), "parentSpanId": b64("00f067aa0ba902b7")},
    "upper-case hex": {"traceId": TRACE_ID.upper(), "parentSpanId": "00F067AA0BA902B7"},
    "kind by name": {"kind": "SPAN_KIND_CLIENT", "parentSpanId": "00f067aa0ba902b7"},
    "numbers as numbers": {"startTimeUnixNano": 1767225600123456789, "parentSpanId": "00f067aa0ba902b7"},
}


@pytest.mark.parametrize("changes", DIALECTS.values(), ids=DIALECTS)
def test_dialects_read_the_same(changes):
    (found,) = parse_document({"result": document(span(**changes))})
    assert (found.trace_id, found.span_id, found.parent_id) == (TRACE_ID, SPAN_ID, "00f067aa0ba902b7")
    assert (found.kind, found.start_ns) == (Kind.CLIENT, 1767225600123456789)


@pytest.mark.parametrize("none", ["", "0" * 16, b64("0" * 16)])
def test_a_root_has_no_parent_however_that_is_written(none):
    (found,) = parse_document(document(span(parentSpanId=none)))
    assert found.parent_id == ""


BROKEN = {
    "an array": ([], "expected an object, got list"),
    "another answer": ({"data": []}, "has no `resourceSpans` (it has: data)"),
    "no service": ({"resourceSpans": [{"scopeSpans": []}]}, "resourceSpans[0].resource: has no `service.name`"),
    "spans no array": ({"resourceSpans": {"a": 1}}, "resourceSpans: expected an array, got dict"),
    "short id": (document(span(spanId="abc")), "spans[0].spanId: 'abc' is neither 16 hex digits nor base64 of 8"),
    "no trace id": (document(span(traceId="")), "spans[0].traceId: '' is neither"),
    "time as float": (document(span(endTimeUnixNano=1.7e18)), "endTimeUnixNano: 1.7e+18 is not an integer"),
    "time missing": (document(span(startTimeUnixNano=None)), "startTimeUnixNano: None is not"),
    "kind": (document(span(kind="CLIENTE")), "kind: 'CLIENTE' is neither 0 to 5"),
    "kind a list": (document(span(kind=[3])), "kind: [3] is neither 0 to 5"),
    "attribute": (
        document(span(attributes=[{"key": "a", "value": {"intValue": "x"}}])),
        "spans[0].attributes[0].value: {'intValue': 'x'}",
    ),
}


@pytest.mark.parametrize(("broken", "message"), BROKEN.values(), ids=BROKEN)
def test_broken_input_is_named(broken, message):
    with pytest.raises(MalformedTraceError) as caught:
        list(parse_document(broken, where="file"))
    assert message in str(caught.value)


def test_a_file_of_lines_and_a_file_of_one_document(tmp_path):
    lines = tmp_path / "lines.jsonl"
    lines.write_text("\n".join(json.dumps(document(span(), service=name)) for name in ("edge", "order")) + "\n\n")
    assert [found.service for found in read_file(lines)] == ["edge", "order"]
    whole = tmp_path / "whole.json"
    whole.write_text(json.dumps({"result": document(span())}, indent=2))
    assert [found.service for found in read_file(whole)] == ["edge"]


def test_a_broken_line_is_named_by_number(tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_text(json.dumps(document(span())) + "\n{oops\n")
    with pytest.raises(MalformedTraceError, match=r"lines\.jsonl:2: not JSON"):
        read_file(path)
