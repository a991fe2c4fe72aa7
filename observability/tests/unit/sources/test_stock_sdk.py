"""Spans as OpenTelemetry's own SDK for Python makes and encodes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from google.protobuf.json_format import MessageToDict
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import SpanKind

from hops.budget.any_system import budget_of_any, tree_of
from hops.sources.trace_set import read_sources


class Kept(SpanExporter):
    """Stores the request that it would send."""

    def __init__(self, requests):
        self.requests = requests

    def export(self, spans):
        self.requests.append(encode_spans(spans))
        return SpanExportResult.SUCCESS


@pytest.fixture
def requests():
    """An order that calls the stock, which queries its database, and then sends a mail, handled with a link to it."""
    made = []
    tracers = {}
    for name in ("shop", "stock", "mail"):
        provider = TracerProvider(resource=Resource.create({"service.name": name}))
        provider.add_span_processor(SimpleSpanProcessor(Kept(made)))
        tracers[name] = provider.get_tracer("test")
    with tracers["shop"].start_as_current_span("POST /orders", kind=SpanKind.SERVER):
        with tracers["shop"].start_as_current_span("check"):
            pass
        with (
            tracers["shop"].start_as_current_span("GET", kind=SpanKind.CLIENT),
            tracers["stock"].start_as_current_span("GET /stock", kind=SpanKind.SERVER),
            tracers["stock"].start_as_current_span("q", kind=SpanKind.CLIENT, attributes={"db.system.name": "mysql"}),
        ):
            pass
        with tracers["shop"].start_as_current_span("send", kind=SpanKind.PRODUCER) as sent:
            link = trace.Link(sent.get_span_context())
    with tracers["mail"].start_as_current_span("batch", kind=SpanKind.CONSUMER, links=[link]):
        pass
    return made


@pytest.mark.parametrize("form", ["protobuf", "protobuf's JSON"])
def test_a_trace_of_the_stock_sdk(requests, form, tmp_path):
    file = tmp_path / "traces"
    if form == "protobuf":
        file.write_bytes(b"".join(one.SerializeToString() for one in requests))
    else:
        file.write_text("\n".join(json.dumps(MessageToDict(one)) for one in requests))
    read = read_sources([str(file)])
    assert [one.refused for one in read.inputs] == [""]
    order, mail = sorted(read.traces.values(), key=len, reverse=True)
    tree = tree_of(order)
    budget = budget_of_any(tree)
    assert budget.journey == "shop: POST /orders"
    assert set(budget.parts) <= {"work:shop", "wire:shop→stock", "work:stock", "db:stock", "messaging:shop"}
    crossings = budget.crossings
    assert crossings["wire:shop→stock"] == crossings["db:stock"] == crossings["messaging:shop"] == 1
    assert (tree.quality.complete, budget.gap_ns) == (True, 0)
    assert tree_of(mail).root.span.links[0][0] == order[0].trace_id


STOCK = Path(__file__).with_name("stock")
NODE = {"work:shop", "wire:shop→stock", "work:stock", "db:stock", "external:shop→api.stripe.com"}
JAVA = NODE - {"external:shop→api.stripe.com"}
GO = {"work:shop", "wire:shop→stock", "work:stock", "messaging:shop", "messaging:shop→mail", "work:mail"}


@pytest.mark.parametrize(
    ("name", "kind", "parts"),
    [
        ("node.json", "OTLP JSON", NODE),
        ("node.pb", "OTLP protobuf", NODE),
        ("node-zipkin.json", "Zipkin v2 JSON", NODE),
        ("java.pb", "OTLP protobuf", JAVA),
        ("go.pb", "OTLP protobuf", GO),
    ],
)
def test_a_file_of_another_language_s_sdk(name, kind, parts):
    """The files were made by OpenTelemetry's SDKs for Node and Go and its agent for Java, with their own exporters."""
    read = read_sources([str(STOCK / name)])
    assert (read.inputs[0].format, read.inputs[0].refused) == (kind, "")
    (spans,) = read.traces.values()
    budget = budget_of_any(tree_of(spans))
    assert set(budget.parts) == parts
    assert (budget.quality.complete, budget.gap_ns, budget.journey) == (True, 0, "shop: POST /orders")
