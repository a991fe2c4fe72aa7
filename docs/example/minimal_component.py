"""The smallest product service to start from: each method answers UNIMPLEMENTED until you write it."""

import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased
from opentelemetry.trace import SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from shop.stubs import product_pb2_grpc

told = os.environ
if told.get("SHOP_CONTRACT") != "1":
    print(f"error: SHOP_CONTRACT is {told.get('SHOP_CONTRACT')}; valid: 1", file=sys.stderr)
    sys.exit(2)
if told.get("SHOP_AWAIT_STDIN") == "on":
    sys.stdin.read()  # the database is available once standard input ends
spans = TracerProvider(sampler=ParentBased(ALWAYS_OFF), resource=Resource({"service.name": told["SHOP_COMPONENT"]}))
spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(insecure=True)))  # to OTEL_EXPORTER_OTLP_ENDPOINT
tracer, propagator = spans.get_tracer("minimal"), TraceContextTextMapPropagator()


class Traced(grpc.ServerInterceptor):
    """Records a SERVER span around each call, as a child of the caller's span."""

    def intercept_service(self, go_on, call):
        handler, caller = go_on(call), propagator.extract(dict(call.invocation_metadata))
        if handler is None or handler.response_streaming:
            return handler

        def traced(request, context):
            with tracer.start_as_current_span(call.method[1:], caller, SpanKind.SERVER, record_exception=False):
                return handler.unary_unary(request, context)

        return grpc.unary_unary_rpc_method_handler(traced, handler.request_deserializer, handler.response_serializer)


server, ready = grpc.server(ThreadPoolExecutor(16), interceptors=[Traced()]), health.HealthServicer()
health_pb2_grpc.add_HealthServicer_to_server(ready, server)
product_pb2_grpc.add_ProductServiceServicer_to_server(product_pb2_grpc.ProductServiceServicer(), server)
server.add_insecure_port(told["SHOP_LISTEN_GRPC"])
stop = threading.Event()
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda *_: stop.set())
server.start()
ready.set("", health_pb2.HealthCheckResponse.SERVING)
stop.wait()
ready.enter_graceful_shutdown()  # NOT_SERVING: no new calls arrive
server.stop(grace=5).wait()  # until the calls under way are answered
spans.shutdown()
