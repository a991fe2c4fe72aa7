"""A target that shares no code with the load generator: books over HTTP, GraphQL, and gRPC with reflection.

Usage: python library.py HTTP_PORT GRAPHQL_PORT GRPC_PORT

Its spans go to OTEL_EXPORTER_OTLP_ENDPOINT, if set.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Annotated, Any

import strawberry
import uvicorn
from fastapi import Cookie, FastAPI, Header, HTTPException, Response
from fastapi.responses import RedirectResponse
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc import StatusCode, aio, unary_stream_rpc_method_handler, unary_unary_rpc_method_handler
from grpc import method_handlers_generic_handler as handlers
from grpc_reflection.v1alpha import reflection
from opentelemetry import propagate, trace
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import Span, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from strawberry.asgi import GraphQL

HOST = "127.0.0.1"
BOOKS = 100
SERVICE = "library.v1.Library"

http = FastAPI()
tracer = trace.get_tracer("library")
loans: dict[int, int] = {}
keys: set[str] = set()
numbers = itertools.count(1)


def title_of(book: int) -> str:
    return f"Volume {book}"


@http.get("/books/{book}")
async def get_book(book: int) -> dict[str, Any]:
    if not 1 <= book <= BOOKS:
        raise HTTPException(404, "no such book")
    return {"id": book, "title": title_of(book), "shelf": f"row {book % 7}/{book % 3}"}


@http.get("/echo")
async def echo(said: str, authorization: Annotated[str, Header()]) -> dict[str, str]:
    return {"said": said, "authorization": authorization}


@http.post("/visits", status_code=204)
async def come_in(response: Response) -> None:
    response.set_cookie("visit", f"v{next(numbers)}", httponly=True)


@http.post("/loans", status_code=201)
async def lend(
    asked: dict[str, int],
    response: Response,
    visit: Annotated[str, Cookie()],
    x_idempotency_key: Annotated[str, Header()],
) -> dict[str, Any]:
    if x_idempotency_key in keys:
        raise HTTPException(409, "this key was sent before")
    keys.add(x_idempotency_key)
    number = next(numbers)
    loans[number] = asked["book"]
    response.headers["location"] = f"/loans/{number}"
    return {"number": number, "book": asked["book"]}


@http.get("/loans/{number}")
async def get_loan(number: int) -> dict[str, Any]:
    return {"number": number, "book": loans[number], "title": title_of(loans[number])}


@http.get("/moved")
async def moved() -> RedirectResponse:
    return RedirectResponse("http://elsewhere.example/books")


@strawberry.type
class Book:
    number: int
    title: str


@strawberry.type
class Query:
    @strawberry.field
    async def book(self, number: int) -> Book | None:
        return Book(number=number, title=title_of(number)) if 1 <= number <= BOOKS else None


def answering(name: str, headers: Mapping[str, str]) -> AbstractContextManager[Span]:
    """Starts the SERVER span of a request, in the trace that its headers name."""
    return tracer.start_as_current_span(name, propagate.extract(headers), trace.SpanKind.SERVER)


def trace_requests(app: Any) -> Any:
    """Adds a span for each request to an ASGI application; FastAPI already has one."""

    async def call(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return await app(scope, receive, send)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        with answering(scope["method"], headers):
            return await app(scope, receive, send)

    return call


def describe_service() -> FileDescriptorProto:
    """Describes the gRPC service, which has no proto file."""
    file = FileDescriptorProto(name="library.proto", package="library.v1", syntax="proto3")
    types = {"GetBookRequest": [("id", FieldDescriptorProto.TYPE_INT64)]}
    types["Book"] = [*types["GetBookRequest"], ("title", FieldDescriptorProto.TYPE_STRING)]
    for name, fields in types.items():
        message = file.message_type.add(name=name)
        for number, (field, kind) in enumerate(fields, start=1):
            message.field.add(name=field, number=number, type=kind, label=FieldDescriptorProto.LABEL_OPTIONAL)
    service = file.service.add(name="Library")
    service.method.add(name="GetBook", input_type=".library.v1.GetBookRequest", output_type=".library.v1.Book")
    service.method.add(
        name="Watch", input_type=".library.v1.GetBookRequest", output_type=".library.v1.Book", server_streaming=True
    )
    return file


async def serve(http_port: int, graphql_port: int, grpc_port: int) -> None:
    pool = DescriptorPool()
    pool.Add(describe_service())
    request, book = (
        GetMessageClass(pool.FindMessageTypeByName(f"library.v1.{name}")) for name in ("GetBookRequest", "Book")
    )

    async def get(asked: Any, context: Any) -> Any:
        if not 1 <= asked.id <= BOOKS:
            await context.abort(StatusCode.NOT_FOUND, "no such book")
        with answering("GetBook", dict(context.invocation_metadata())):
            return book(id=asked.id, title=title_of(asked.id))

    async def watch(asked: Any, context: Any) -> Any:
        with answering("Watch", dict(context.invocation_metadata())):
            for number in range(asked.id, asked.id + 3):
                yield book(id=number, title=title_of(number))

    server = aio.server()
    messages = request.FromString, book.SerializeToString
    methods = {
        "GetBook": unary_unary_rpc_method_handler(get, *messages),
        "Watch": unary_stream_rpc_method_handler(watch, *messages),
    }
    server.add_generic_rpc_handlers((handlers(SERVICE, methods),))
    reflection.enable_server_reflection((SERVICE, reflection.SERVICE_NAME), server, pool=pool)
    server.add_insecure_port(f"{HOST}:{grpc_port}")
    await server.start()
    apps = {http_port: http, graphql_port: trace_requests(GraphQL(strawberry.Schema(Query)))}
    servers = [
        uvicorn.Server(uvicorn.Config(app, HOST, port, log_level="warning", timeout_keep_alive=60))
        for port, app in apps.items()
    ]
    await asyncio.gather(*(one.serve() for one in servers))
    await server.stop(None)


if __name__ == "__main__":
    if "OTEL_EXPORTER_OTLP_ENDPOINT" in os.environ:
        provider = TracerProvider()
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(insecure=True), schedule_delay_millis=500))
        trace.set_tracer_provider(provider)
    asyncio.run(serve(*map(int, sys.argv[1:4])))
