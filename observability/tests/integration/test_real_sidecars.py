"""Spans of a real Envoy as the sidecars of one call: what they report about attempts, faults and abandoned calls."""

from __future__ import annotations

import json
import shutil
import socket
import tempfile
import threading
import time
import uuid
from concurrent import futures
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer

import grpc
import httpx
import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as otlp
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as otlp_grpc
from trace_backends import running

from hops.budget.parts import budget_of_tree, bypasses_sidecars
from hops.sources.otlp_proto import read_messages
from hops.traces.span import Kind, Span
from hops.traces.tree import grow
from mesh.paths import envoy

pytestmark = pytest.mark.timeout(60)

EXTENSIONS = "type.googleapis.com/envoy.extensions"
ROOT_ID = "00000000000000aa"
THERE = {"order-outbound", "product-inbound", "product"}


def listener(folder, service, cluster, *, direction, filters=(), **route):
    """Makes the listener for one direction of a sidecar, on a socket named after the two."""
    tracer = {
        "@type": "type.googleapis.com/envoy.config.trace.v3.OpenTelemetryConfig",
        "service_name": service,
        "grpc_service": {"envoy_grpc": {"cluster_name": "otlp"}},
    }
    provider = {"name": "envoy.tracers.opentelemetry", "typed_config": tracer}
    routes = [{"match": {"prefix": "/"}, "route": {"cluster": cluster, **route}}]
    router = {"@type": f"{EXTENSIONS}.filters.http.router.v3.Router"}
    manager = {
        "@type": f"{EXTENSIONS}.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": service,
        "tracing": {"spawn_upstream_span": True, "provider": provider},
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}]},
        "http_filters": [*filters, {"name": "envoy.filters.http.router", "typed_config": router}],
    }
    chain = [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]
    return {
        "name": service,
        "traffic_direction": direction,
        "address": {"pipe": {"path": str(folder / f"{service}.sock")}},
        "filter_chains": [{"filters": chain}],
    }


def cluster(folder, name, *, http2=False):
    """Makes the Envoy cluster for the listener on the socket with this name."""
    endpoint = {"endpoint": {"address": {"pipe": {"path": str(folder / f"{name}.sock")}}}}
    made = {
        "name": name,
        "type": "STATIC",
        "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [endpoint]}]},
    }
    options = {
        "@type": f"{EXTENSIONS}.upstreams.http.v3.HttpProtocolOptions",
        "explicit_http_config": {"http2_protocol_options": {}},
    }
    if http2:
        made["typed_extension_protocol_options"] = {f"envoy.{options['@type'].partition('envoy.')[2]}": options}
    return made


def config(folder):
    fault = {
        "@type": f"{EXTENSIONS}.filters.http.fault.v3.HTTPFault",
        "abort": {"header_abort": {}, "percentage": {"numerator": 100}},
    }
    faults = [{"name": "envoy.filters.http.fault", "typed_config": fault}]
    retry = {"retry_policy": {"retry_on": "5xx", "num_retries": 1}}
    flushed = {"name": "static", "static_layer": {"tracing.opentelemetry.flush_interval_ms": 50}}
    listeners = [
        listener(folder, "order-outbound", "product-inbound", direction="OUTBOUND", filters=faults, **retry),
        listener(folder, "user-outbound", "nobody", direction="OUTBOUND", **retry),
        listener(folder, "product-inbound", "product", direction="INBOUND"),
    ]
    clusters = [cluster(folder, name) for name in ("product-inbound", "product", "nobody")]
    clusters.append(cluster(folder, "otlp", http2=True))
    resources = {"listeners": listeners, "clusters": clusters}
    return {"layered_runtime": {"layers": [flushed]}, "static_resources": resources}


class Collector(otlp_grpc.TraceServiceServicer):
    """Stores the spans that are exported to it."""

    def __init__(self):
        self.spans = []

    def Export(self, request, context):  # noqa: N802 - the contract's name
        for spans in read_messages(request.SerializeToString(), "an export"):
            self.spans += spans
        return otlp.ExportTraceServiceResponse()


class Product(ThreadingMixIn, UnixStreamServer):
    """The callee behind the inbound sidecar; it leaves a SERVER span for each request."""

    daemon_threads = True

    def __init__(self, path, collector):
        self.collector, self.paths_failed = collector, set()
        super().__init__(str(path), _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        began = time.time_ns()
        _, trace_id, parent_id, _ = self.headers["traceparent"].split("-")
        fails = self.path == "/fails-once" and self.path not in self.server.paths_failed
        self.server.paths_failed |= {self.path}
        if self.path == "/hangs":
            time.sleep(0.6)
        span_id = uuid.uuid4().hex[:16]
        span = Span(trace_id, span_id, parent_id, "GET", Kind.SERVER, "product", began, time.time_ns())
        self.server.collector.spans.append(span)
        self.send_response(503 if fails else 200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Call:
    """Sends requests as order's CLIENT span would, and collects the trace that each request leaves."""

    def __init__(self, folder, collector):
        self._folder, self._collector = folder, collector

    def __call__(self, path, *, by="order-outbound", services=THERE, timeout_s=5.0, **headers):
        """Sends a request; returns its trace once spans of these services have arrived and no more arrive."""
        trace_id = uuid.uuid4().hex
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        headers["traceparent"] = f"00-{trace_id}-{ROOT_ID}-01"
        transport = httpx.HTTPTransport(uds=str(self._folder / f"{by}.sock"))
        began = time.time_ns()
        with httpx.Client(transport=transport, timeout=timeout_s) as client:
            try:
                client.get(f"http://product.mesh.local{path}", headers=headers)
            except httpx.ReadTimeout:
                assert timeout_s < 1
        root = Span(trace_id, ROOT_ID, "", path, Kind.CLIENT, by.removesuffix("-outbound"), began, time.time_ns())
        return grow([root, *self._wait_for_spans(trace_id, services)])

    def _wait_for_spans(self, trace_id, services):
        deadline = time.monotonic() + 10
        spans, before = [], None
        while time.monotonic() < deadline and (before != len(spans) or {span.service for span in spans} != services):
            before = len(spans)
            time.sleep(0.3)
            spans = [span for span in list(self._collector.spans) if span.trace_id == trace_id]
        assert {span.service for span in spans} == services
        return spans


@pytest.fixture(scope="module")
def call():
    folder = Path(tempfile.mkdtemp(prefix="sidecars-"))  # a socket's path must be short
    collector = Collector()
    server = grpc.server(futures.ThreadPoolExecutor(2))
    otlp_grpc.add_TraceServiceServicer_to_server(collector, server)
    server.add_insecure_port(f"unix:{folder / 'otlp.sock'}")
    server.start()
    product = Product(folder / "product.sock", collector)
    threading.Thread(target=product.serve_forever, daemon=True).start()
    (folder / "envoy.json").write_text(json.dumps(config(folder)))
    command = [envoy(), "-c", folder / "envoy.json", "--use-dynamic-base-id", "--concurrency", "1"]
    try:
        with running(command, partial(_is_served, folder / "order-outbound.sock"), folder / "envoy.log"):
            yield Call(folder, collector)
    finally:
        product.shutdown()
        product.server_close()
        server.stop(0).wait()
        shutil.rmtree(folder)


def _is_served(path):
    with socket.socket(socket.AF_UNIX) as probe:
        return not probe.connect_ex(str(path))


def budget_of(tree):
    budget = budget_of_tree(tree)
    assert budget.gap_ns == 0
    return budget


def test_a_call_has_five_legs_and_bypasses_nothing(call):
    tree = call("/")
    budget = budget_of(tree)
    assert tree.quality.complete
    assert budget.crossings == {
        "wire:order→order-outbound": 1, "proxy:order-outbound": 1, "wire:order-outbound→product-inbound": 1,
        "proxy:product-inbound": 1, "wire:product-inbound→product": 1, "work:product": 1,
    }  # fmt: skip
    assert not any(map(bypasses_sidecars, budget.crossings))


def test_a_retried_call_crosses_the_wire_twice(call):
    tree = call("/fails-once")
    crossings = budget_of(tree).crossings
    assert tree.quality.complete
    assert (crossings["proxy:order-outbound"], crossings["wire:order-outbound→product-inbound"]) == (1, 2)


def test_a_fault_that_the_sidecar_injects_lacks_nothing(call):
    tree = call("/", services={"order-outbound"}, x_envoy_fault_abort_request="503")
    assert tree.quality.complete
    assert set(budget_of(tree).parts) == {"wire:order→order-outbound", "proxy:order-outbound"}


def test_tries_that_cannot_connect_are_the_proxys_own_time(call):
    tree = call("/", by="user-outbound", services={"user-outbound"})
    budget = budget_of(tree)
    assert len(tree.nodes) == 4, "the call, the proxy, two tries"
    assert tree.quality.complete
    assert set(budget.parts) == {"wire:user→user-outbound", "proxy:user-outbound"}
    assert budget.crossings["proxy:user-outbound"] == 1


def test_a_call_that_its_caller_gives_up_is_whole_once_all_have_noticed(call):
    tree = call("/hangs", timeout_s=0.2)
    budget = budget_of(tree)
    assert tree.quality.complete
    assert "work:product" in budget.parts
    assert "unattributed" not in budget.parts
