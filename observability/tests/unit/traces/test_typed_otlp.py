"""The typed decoder against the reader of every dialect: the same spans, or nothing."""

from __future__ import annotations

import base64
import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hops.budget.parts import budget_of_tree
from hops.errors import MalformedTraceError
from hops.synthetic.traces import otlp_document, shop_trace
from hops.traces import typed_otlp
from hops.traces.otlp import parse_document, read_line, read_spans
from hops.traces.tree import grow

DOCUMENT = otlp_document(shop_trace(3))


def typed(document):
    return typed_otlp.spans_of(typed_otlp.decode(json.dumps(document).encode()))


def needed(span):
    return replace(span, attributes={key: span.attributes[key] for key in span.attributes if key in typed_otlp.NEEDED})


@given(seed=st.integers(0, 2**32), spans=st.integers(6, 60), mesh=st.booleans(), in_result=st.booleans())
def test_traces_read_the_same(seed, spans, mesh, in_result):
    document = otlp_document(shop_trace(seed, spans, mesh=mesh))
    plainly = list(parse_document(document))
    read = typed({"result": document} if in_result else document)
    assert read == [needed(span) for span in plainly]
    assert budget_of_tree(grow(read)) == budget_of_tree(grow(plainly))


def span_of(document):
    return document["resourceSpans"][2]["scopeSpans"][0]["spans"][0]


def resource_of(document):
    return document["resourceSpans"][2]["resource"]


OF_A_SPAN = [
    *({key: value} for key in ("traceId", "spanId", "parentSpanId") for value in ("", "abc", "g" * 16, "g" * 32, 5)),
    {"parentSpanId": "0" * 16},
    {"parentSpanId": base64.b64encode(b"12345678").decode()},
    {"traceId": "A" * 32},
    {"name": None},
    *({"kind": kind} for kind in (-1, 6, 2.5, None, "SPAN_KIND_SERVER", "SERVER")),
    *({"startTimeUnixNano": time} for time in (None, 0, -1, "", "x", 1.7e18, "1.7e18", True, [])),
    *({"endTimeUnixNano": time} for time in ("0", "12", 12, {})),
    *({"attributes": raw} for raw in (None, {}, 5, [5], [{}], [{"key": 5}], [{"key": "a", "value": 5}])),
    *(
        {"attributes": [{"key": key, "value": value}]}
        for key in ("shop.journey", "other")
        for value in (
            {"intValue": "12"}, {"intValue": "x"}, {"boolValue": True}, {"doubleValue": 2}, {"doubleValue": "x"},
            {"stringValue": 5}, {"stringValue": None}, {"arrayValue": {"values": []}}, {},
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize("changes", OF_A_SPAN, ids=str)
def test_a_changed_span_reads_the_same_or_is_refused_in_the_same_words(changes):
    document = copy.deepcopy(DOCUMENT)
    span_of(document).update(changes)
    check_that_both_agree(document)


OF_A_RESOURCE = [None, {}, {"attributes": None}, {"attributes": [{"key": "service.name", "value": {"intValue": "5"}}]}]


@pytest.mark.parametrize("resource", OF_A_RESOURCE, ids=str)
def test_a_changed_resource_reads_the_same_or_is_refused_in_the_same_words(resource):
    document = copy.deepcopy(DOCUMENT)
    document["resourceSpans"][2]["resource"] = resource
    check_that_both_agree(document)


@pytest.mark.parametrize("document", [[], 5, {}, {"data": []}, {"resourceSpans": None}, {"result": {}}], ids=str)
def test_another_document_is_refused_in_the_same_words(document):
    check_that_both_agree(document)


def check_that_both_agree(document):
    text = json.dumps(document).encode()
    plainly = outcome(lambda: list(parse_document(document, where="file:1")))
    assert outcome(lambda: read_line(text, where="file:1")) == plainly


def outcome(read):
    try:
        return [needed(span) for span in read()]
    except MalformedTraceError as error:
        return str(error)


def test_jaegers_dialect_needs_no_second_reader():
    """Kinds and times as Jaeger writes them; if this fails, reading is right still, but ten times as slow."""
    document = copy.deepcopy(DOCUMENT)
    for resource_spans in document["resourceSpans"]:
        for span in resource_spans["scopeSpans"][0]["spans"]:
            span |= {"flags": 257, "traceState": "", "status": {}, "events": [{"name": "x", "timeUnixNano": "5"}]}
    assert typed(document) == typed(DOCUMENT)


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b'{"resourceSpans": [', b'{"resourceSpans": []} x'])
def test_what_is_no_json_is_refused(text):
    with pytest.raises(ValueError, match=r"line 1|utf-8"):
        read_spans(text)
