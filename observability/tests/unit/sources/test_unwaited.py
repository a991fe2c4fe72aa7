"""Spans that nobody waits for, and spans that were not finished, as each format writes them."""

from __future__ import annotations

import json

import pytest
from opentelemetry.proto.trace.v1 import trace_pb2

from hops.budget.any_system import budget_of_any, tree_of
from hops.sources.trace_set import read_sources
from hops.traces.span import FOLLOWS_FROM, REF_TYPE
from synthetic.formats import jaeger_trace, otlp_message, zipkin_trace
from synthetic.traces import otlp_document

from .content import read

GET = """
front get      SERVER 0..100000000
`- worker job   INTERNAL 50000000..90000000
"""
OTHER = {"traceID": "ab" * 16, "spanID": "cd" * 8}
MS = 1_000_000


@pytest.fixture
def budget(tmp_path):
    def of(content):
        file = tmp_path / "traces"
        file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        read = read_sources([str(file)])
        assert not read.refused
        (spans,) = read.traces.values()
        return budget_of_any(tree_of(spans))

    return of


def parts_ms(budget):
    return {part: ns / MS for part, ns in budget.parts.items()}


FOLLOWER, CHILD = {"front": 100}, {"front": 60, "worker": 40}
JAEGER = {
    "follows": ([("FOLLOWS_FROM", "root")], FOLLOWER),
    "follows, in lower case": ([("follows_from", "root")], FOLLOWER),
    "a child that follows another trace, too": ([("FOLLOWS_FROM", "other"), ("CHILD_OF", "root")], CHILD),
    "follows, and the child of another trace": ([("CHILD_OF", "other"), ("FOLLOWS_FROM", "root")], FOLLOWER),
    "both of the same span": ([("FOLLOWS_FROM", "root"), ("CHILD_OF", "root")], CHILD),
    "follows twice": ([("FOLLOWS_FROM", "root"), ("FOLLOWS_FROM", "root")], FOLLOWER),
}


@pytest.mark.parametrize(("references", "work"), JAEGER.values(), ids=JAEGER)
def test_references_of_jaeger(draw, budget, references, work):
    spans = draw(GET)
    document = jaeger_trace(spans)
    to = {"root": {"traceID": spans[0].trace_id, "spanID": spans[0].span_id}, "other": OTHER}
    document["spans"][1]["references"] = [{"refType": kind, **to[name]} for kind, name in references]
    one = budget({"data": [document]})
    assert parts_ms(one) == {f"work:{name}": ms for name, ms in work.items()}
    assert one.quality.complete
    assert one.quality.followers == (work is FOLLOWER)


def test_a_root_of_jaeger_may_follow_another_trace(draw, budget):
    document = jaeger_trace(draw(GET))
    document["spans"][0]["references"] = [{"refType": "FOLLOWS_FROM", **OTHER}]
    assert parts_ms(budget({"data": [document]})) == {"work:front": 60, "work:worker": 40}


LINKS = {
    "to the parent": (True, ["follows_from"], FOLLOWER),
    "to the parent, also as its child": (True, ["follows_from", "child_of"], CHILD),
    "to the parent, of no type": (True, [""], CHILD),
    "without a parent": (False, ["follows_from"], FOLLOWER),
    "without a parent, of no type": (False, [""], FOLLOWER),
}


@pytest.mark.parametrize("kind", ["INTERNAL", "CONSUMER"])
@pytest.mark.parametrize(("has_parent", "types", "work"), LINKS.values(), ids=LINKS)
def test_links_of_otlp(draw, budget, has_parent, types, work, kind):
    if kind == "CONSUMER" and not has_parent and types == [""]:
        work = CHILD  # a link is all that a batch's receipt has
    spans = draw(GET.replace("INTERNAL", kind))
    root, job = ({"traceId": one.trace_id, "spanId": one.span_id} for one in spans)
    links = [{**root, "attributes": [{"key": REF_TYPE, "value": {"stringValue": one}}] if one else []} for one in types]
    document = otlp_document(spans)
    for component in document["resourceSpans"]:
        for span in component["scopeSpans"][0]["spans"]:
            if span["spanId"] == job["spanId"]:
                span["links"] = links
                span["parentSpanId"] = root["spanId"] if has_parent else ""
    message = trace_pb2.TracesData.FromString(otlp_message(spans))
    for component in message.resource_spans:
        for span in component.scope_spans[0].spans:
            if span.span_id.hex() == job["spanId"]:
                span.parent_span_id = bytes.fromhex(root["spanId"]) if has_parent else b""
                for one in types:
                    link = span.links.add(trace_id=span.trace_id, span_id=bytes.fromhex(root["spanId"]))
                    if one:
                        link.attributes.add(key=REF_TYPE).value.string_value = one
    for content in (document, message.SerializeToString()):
        one = budget(content)
        assert parts_ms(one) == {f"work:{name}": ms for name, ms in work.items()}
        assert one.quality.complete


def test_a_link_without_an_id_leads_nowhere(draw, budget):
    spans = draw(GET)
    trace_id, span_id = spans[0].trace_id, spans[0].span_id
    document, message = otlp_document(spans), trace_pb2.TracesData.FromString(otlp_message(spans))
    for component in document["resourceSpans"]:
        for span in component["scopeSpans"][0]["spans"]:
            span["links"] = [{"traceId": "", "spanId": span_id}, {"traceId": trace_id, "spanId": ""}, {}]
    for component in message.resource_spans:
        for span in component.scope_spans[0].spans:
            span.links.add(span_id=bytes.fromhex(span_id))
            span.links.add(trace_id=bytes.fromhex(trace_id))
            span.links.add()
    contents = json.dumps(document), message.SerializeToString()
    assert [one.links for content in contents for one in read(content)[1]] == [()] * 4
    in_json, in_protobuf = map(budget, (document, contents[1]))
    assert in_json == in_protobuf == budget(otlp_message(spans))


def test_a_tag_says_that_nobody_waits(draw, budget):
    spans = draw(GET.replace("90000000", f"90000000 {REF_TYPE}={FOLLOWS_FROM}"))
    for content in ({"data": [jaeger_trace(spans)]}, otlp_document(spans), otlp_message(spans), zipkin_trace(spans)):
        assert parts_ms(budget(content)) == {"work:front": 100}


CALL = """
front get      SERVER 0..100000000
`- front GET    CLIENT 10000000..90000000
   `- stock get  SERVER 20000000..80000000
"""


@pytest.mark.parametrize("kind", ["SERVER", "CLIENT"])
def test_a_span_without_a_duration_lasts_as_long_as_what_is_below_it(draw, budget, kind):
    spans = draw(CALL)
    (number,) = [at for at, span in enumerate(spans) if span.kind == kind and span.service == "front"]
    zipkin, null = zipkin_trace(spans), zipkin_trace(spans)
    del zipkin[number]["duration"]
    null[number]["duration"] = None
    jaeger = jaeger_trace(spans)
    jaeger["spans"][number]["duration"] = 0
    missing, zero = otlp_document(spans), otlp_document(spans)
    for document, change in ((missing, lambda span: span.pop("endTimeUnixNano")),
                             (zero, lambda span: span.update(endTimeUnixNano="0"))):  # fmt: skip
        for component in document["resourceSpans"]:
            for span in component["scopeSpans"][0]["spans"]:
                if span["spanId"] == spans[number].span_id:
                    change(span)
    message = trace_pb2.TracesData.FromString(otlp_message(spans))
    for component in message.resource_spans:
        for span in component.scope_spans[0].spans:
            if span.span_id.hex() == spans[number].span_id:
                span.end_time_unix_nano = 0
    own = {"work:front": 30, "wire:front→stock": 10} if kind == "CLIENT" else {"work:front": 10, "wire:front→stock": 20}
    for content in (zipkin, null, {"data": [jaeger]}, missing, zero, message.SerializeToString()):
        one = budget(content)
        assert parts_ms(one) == {**own, "work:stock": 60}
        assert (one.quality.unfinished, one.quality.complete) == (1, False)


def test_of_a_span_reported_while_it_ran_the_ended_one_is_kept(draw, budget):
    spans = zipkin_trace(draw(CALL))
    running = {name: value for name, value in spans[1].items() if name != "duration"}
    for content in ([*spans, running], [running, *spans]):
        one = budget(content)
        assert parts_ms(one) == {"work:front": 20, "wire:front→stock": 20, "work:stock": 60}
        assert (one.quality.unfinished, one.quality.duplicates) == (0, 1)
