"""Programs that keep traces, started for a test, and the spans of components that export to them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from hops.sources.query import Query
from hops.sources.trace_set import TraceSet, read_sources

PORT_BASE = int(os.environ.get("HOPS_TEST_PORT_BASE", "18400"))
READY_S, STOP_S = 30.0, 10.0


@contextmanager
def running(command: list[str | Path], is_ready: Callable[[], bool], log: Path) -> Iterator[None]:
    """A program that runs for the duration of the context, which begins when it is ready."""
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=log.parent)
    try:
        deadline = time.monotonic() + READY_S
        while not is_ready():
            if time.monotonic() > deadline or process.poll() is not None:
                pytest.fail(f"{command[0]} did not become ready: {log.read_text()[-2000:]}")
            time.sleep(0.1)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_S)


def says_yes(url: str) -> bool:
    """Whether an address reports that its program is ready."""
    try:
        return httpx.get(url, trust_env=False).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


class Component:
    """One component's spans, exported as if by a separate process.

    Args:
        name: The component's name.
        otlp: Where the component exports spans to, "host:port", over gRPC.
    """

    def __init__(self, name: str, otlp: str) -> None:
        self._resource = Resource(attributes=[_attribute("service.name", name)])
        self._otlp = otlp
        self._spans: list[Span] = []

    def span(
        self, name: str, kind: Span.SpanKind.ValueType, start_ns: int, end_ns: int, parent: Span | None = None,
        **attributes: Any,
    ) -> Span:  # fmt: skip
        span = Span(
            trace_id=os.urandom(16) if parent is None else parent.trace_id, span_id=os.urandom(8),
            parent_span_id=b"" if parent is None else parent.span_id, name=name, kind=kind,
            start_time_unix_nano=start_ns, end_time_unix_nano=end_ns,
            attributes=[_attribute(key, value) for key, value in attributes.items()],
        )  # fmt: skip
        self._spans.append(span)
        return span

    def flush(self) -> None:
        spans = ResourceSpans(resource=self._resource, scope_spans=[ScopeSpans(spans=self._spans)])
        with grpc.insecure_channel(self._otlp, options=[("grpc.enable_http_proxy", 0)]) as channel:
            TraceServiceStub(channel).Export(ExportTraceServiceRequest(resource_spans=[spans]), timeout=10)


def a_look_at_a_product(client: Component, product: Component, began: int) -> tuple[Span, dict[str, int]]:
    """Exports a trace of two components; returns its root and its budget, ns."""
    root = client.span("look", Span.SPAN_KIND_INTERNAL, began, began + 5_000_001)
    call = client.span("GET", Span.SPAN_KIND_CLIENT, began + 1_000_011, began + 4_999_983, root)
    product.span("GetProduct", Span.SPAN_KIND_SERVER, began + 2_000_003, began + 3_000_007, call)
    client.flush()
    product.flush()
    return root, {"work:client": 1_000_029, "wire:client→product": 2_999_968, "work:product": 1_000_004}


def read_when_whole(url: str, query: Query, root: Span, limit_s: float) -> TraceSet:
    """Queries an API until it has all spans of a look at a product, or time runs out; returns its last answer."""
    deadline = time.monotonic() + limit_s
    read = read_sources([url], query=query)
    while len(read.traces.get(root.trace_id.hex(), ())) < 3 and time.monotonic() < deadline:
        time.sleep(0.1)
        read = read_sources([url], query=query)
    return read


def _attribute(key: str, value: str | int) -> KeyValue:
    typed = AnyValue(int_value=value) if isinstance(value, int) else AnyValue(string_value=value)
    return KeyValue(key=key, value=typed)
