"""Thrift's TJSON over HTTP: a message is the body of a POST, and every answer is the body of a 200, errors included.

A failure before there is a call to answer is an HTTP problem, as over REST.
"""

from __future__ import annotations

from opentelemetry import trace
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from shop.platform.error_codes import SERVER_FAULTS
from shop.platform.http.caching import NO_STORE
from shop.platform.http.compression import compress_for
from shop.platform.incoming import Incoming, failure_of, note_failure
from shop.platform.rest.answers import Answer
from shop.platform.rest.problems import answer_http_error
from shop.platform.rest.requests import RestCall, Serving
from shop.platform.telemetry.metering import add_details
from shop.platform.telemetry.recorder import attributes_by_name
from shop.platform.thrift.encoding import JSON
from shop.platform.thrift.processor import Processor

MEDIA_TYPE = "application/vnd.apache.thrift.json"


def path_of(service: str) -> str:
    return f"/thrift/{service}"


def http_app(service: str, processor: Processor, incoming: Incoming) -> Starlette:
    authenticator = incoming.authenticator

    async def answer(request: Request) -> Response:
        received = RestCall(request.scope, request.receive)
        call = processor.call(JSON, await received.body())
        if isinstance(call, bytes):
            return _response(received, call)
        span, traced = trace.get_current_span(), call.method.traced
        span.update_name(traced.name)
        add_details(route=path_of(service), operation=traced.name)
        span.set_attributes(attributes_by_name(traced.attributes))
        origin = received.last_header(authenticator.origin_header.encode())
        try:
            message = await call.work(authenticator, received.header(b"authorization"), origin)
        except Exception as error:
            failure = failure_of(error)
            note_failure(span, failure)
            if failure.code in SERVER_FAULTS:
                add_details(error=failure.code.value)
            message = call.refusal(failure)
        return _response(received, message)

    return Starlette(
        routes=[Route(path_of(service), answer, methods=["POST"])],
        middleware=[Middleware(Serving, incoming)],
        exception_handlers={HTTPException: answer_http_error},
    )


def _response(call: RestCall, message: bytes) -> Response:
    body, encoding = compress_for(message, call.header(b"accept-encoding"))
    return Answer(200, body, [NO_STORE, *encoding], MEDIA_TYPE.encode())
