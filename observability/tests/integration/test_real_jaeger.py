"""Times in nanoseconds survive the way through Jaeger and back."""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from trace_backends import PORT_BASE, Component, a_look_at_a_product, read_when_whole, running, says_yes

from hops.budget.any_system import budget_of_any, tree_of
from hops.budget.parts import DELAY_TOOK, budget_of_tree
from hops.sources.query import Query
from hops.sources.trace_set import read_sources
from hops.traces.jaeger import read_traces
from hops.traces.span import Kind
from hops.traces.tree import grow

pytestmark = pytest.mark.timeout(90)

DEFAULT_BINARY = Path(__file__).resolve().parents[3] / ".tools/bin/jaeger"
OTLP, QUERY_HTTP, QUERY_GRPC, HEALTH = (PORT_BASE + offset for offset in (70, 72, 73, 74))

CONFIG = f"""
service:
  extensions: [jaeger_storage, jaeger_query, healthcheckv2]
  pipelines:
    traces: {{receivers: [otlp], exporters: [jaeger_storage_exporter]}}
  telemetry:
    metrics: {{level: none}}
    logs: {{level: warn}}
extensions:
  healthcheckv2: {{use_v2: true, http: {{endpoint: "127.0.0.1:{HEALTH}"}}}}
  jaeger_storage: {{backends: {{memory: {{memory: {{max_traces: 1000}}}}}}}}
  jaeger_query:
    storage: {{traces: memory}}
    enable_tracing: false  # no traces of Jaeger itself: without their collector, stopping takes 10 s
    http: {{endpoint: "127.0.0.1:{QUERY_HTTP}"}}
    grpc: {{endpoint: "127.0.0.1:{QUERY_GRPC}"}}
receivers:
  otlp: {{protocols: {{grpc: {{endpoint: "127.0.0.1:{OTLP}"}}}}}}
exporters:
  jaeger_storage_exporter: {{trace_storage: memory}}
"""


@pytest.fixture(scope="module")
def jaeger_url(tmp_path_factory):
    binary = Path(os.environ.get("JAEGER_BIN", DEFAULT_BINARY))
    if not os.access(binary, os.X_OK):
        pytest.skip(f"no Jaeger at {binary}: run `make setup`, or let JAEGER_BIN point to one")
    folder = tmp_path_factory.mktemp("jaeger")
    config = folder / "jaeger.yaml"
    config.write_text(CONFIG)
    url = f"http://127.0.0.1:{QUERY_HTTP}"
    with running(
        [binary, "--config", config], partial(says_yes, f"http://127.0.0.1:{HEALTH}/status"), folder / "jaeger.log"
    ):
        yield url


@pytest.fixture
def components():
    return {name: Component(name, f"127.0.0.1:{OTLP}") for name in ("client", "product")}


def test_a_query_by_address_gives_the_same_trace_by_both_apis(jaeger_url, components):
    began = time.time_ns() // 1000 * 1000 + 123
    root, wanted = a_look_at_a_product(components["client"], components["product"], began)
    trace_id = root.trace_id.hex()
    query = Query(service="product", operation="GetProduct", since_ns=began - 10**9, limit=5)
    read = read_when_whole(jaeger_url, query, root, limit_s=15)
    assert [one.refused for one in read.inputs] == [""]
    assert "/api/v3/" in read.inputs[0].name
    assert read.jaeger == jaeger_url
    assert dict(budget_of_any(tree_of(read.traces[trace_id])).parts) == wanted

    by_id = read_sources([jaeger_url], query=Query(trace_ids=(trace_id,)))
    in_ui = read_sources([f"{jaeger_url}/trace/{trace_id}?uiFind=x"])
    assert by_id.traces[trace_id] == in_ui.traces[trace_id]

    older = read_sources([f"{jaeger_url}/api/traces?service=product&limit=5"])
    assert older.inputs[0].format == "Jaeger's JSON"
    in_us = budget_of_any(tree_of(older.traces[trace_id])).parts
    assert {part: ns // 1000 for part, ns in in_us.items()}.keys() == wanted.keys()
    assert all(abs(ns - wanted[part]) <= 4000 for part, ns in in_us.items())

    unknown = read_sources([jaeger_url], query=Query(service="shop"))
    assert "client" in unknown.said
    assert not unknown.traces


def test_nanoseconds_survive(jaeger_url, components):
    client, product = components["client"], components["product"]
    began = time.time_ns() // 1000 * 1000 + 123
    root = client.span(
        "product", Span.SPAN_KIND_INTERNAL, began, began + 1_000_001,
        **{"shop.journey": "product", "shop.channel": "mobile", DELAY_TOOK: 7},
    )  # fmt: skip
    call = client.span("GET", Span.SPAN_KIND_CLIENT, began + 11, began + 999_983, root)
    served = product.span("GetProduct", Span.SPAN_KIND_SERVER, began + 100_003, began + 900_007, call)
    product.span(
        "SELECT", Span.SPAN_KIND_CLIENT, began + 200_009, began + 300_017, served, **{"db.system.name": "postgresql"}
    )
    client.flush()
    trace_id = root.trace_id.hex()

    # The callee's spans arrive later, as it exports them separately: the first look finds an incomplete trace.
    early = read_traces(jaeger_url, [trace_id], patience_s=0, complete=bool)
    assert len(early.get(trace_id, [])) <= 2
    product.flush()

    found = read_traces(jaeger_url, [trace_id, "e" * 32], patience_s=3)
    assert list(found) == [trace_id]
    spans = sorted(found[trace_id], key=lambda span: span.start_ns)
    assert [(span.start_ns - began, span.end_ns - began) for span in spans] == [
        (0, 1_000_001),
        (11, 999_983),
        (100_003, 900_007),
        (200_009, 300_017),
    ]
    assert [span.kind for span in spans] == [Kind.INTERNAL, Kind.CLIENT, Kind.SERVER, Kind.CLIENT]
    assert spans[0].attributes[DELAY_TOOK] == 7

    budget = budget_of_tree(grow(spans))
    assert (budget.journey, budget.channel, budget.total_ns) == ("product", "mobile", 1_000_001)
    assert budget.parts == {
        "client": 29, "wire:client→product": 199_968, "work:product": 699_996, "db:product": 100_008,
    }  # fmt: skip


def test_many_traces_arrive_whole(jaeger_url, components):
    client = components["client"]
    began = time.time_ns()
    ids = []
    for index in range(200):
        root = client.span("browse", Span.SPAN_KIND_INTERNAL, began + index, began + index + 1000)
        client.span("start_lag", Span.SPAN_KIND_INTERNAL, began + index, began + index + 10, root)
        ids.append(root.trace_id.hex())
    client.flush()
    found = read_traces(jaeger_url, ids, complete=lambda spans: len(spans) == 2)
    assert list(found) == ids
    assert {len(spans) for spans in found.values()} == {2}
