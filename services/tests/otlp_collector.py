"""A receiver of spans over OTLP/gRPC, for processes that tests start."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


def export_handler(take: Callable[..., Any]) -> grpc.GenericRpcHandler:
    """Returns the handler with which a server receives spans."""
    handler = grpc.unary_unary_rpc_method_handler(
        take,
        request_deserializer=ExportTraceServiceRequest.FromString,
        response_serializer=ExportTraceServiceResponse.SerializeToString,
    )
    service = "opentelemetry.proto.collector.trace.v1.TraceService"
    return grpc.method_handlers_generic_handler(service, {"Export": handler})


class Collector:
    """An OTLP receiver that keeps the spans that it accepts, by name."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.resources: list[dict[str, str]] = []
        self.server = grpc.server(ThreadPoolExecutor(1))
        self.server.add_generic_rpc_handlers([export_handler(self._take)])
        self.url = f"http://127.0.0.1:{self.server.add_insecure_port('127.0.0.1:0')}"

    def _take(self, request: ExportTraceServiceRequest, _: object) -> ExportTraceServiceResponse:
        for process in request.resource_spans:
            self.resources.append({one.key: one.value.string_value for one in process.resource.attributes})
            self.spans += [span for scope in process.scope_spans for span in scope.spans]
        return ExportTraceServiceResponse()

    def spans_named(self, name: str) -> list[Any]:
        """Returns the spans of this name, in the order of their starts."""
        return sorted((span for span in self.spans if span.name == name), key=lambda span: span.start_time_unix_nano)
