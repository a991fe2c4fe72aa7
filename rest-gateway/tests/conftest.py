"""The gateway over in-memory services; every answer is checked against the OpenAPI document."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest
import schemathesis
from fastapi import FastAPI
from schemathesis.specs.openapi.schemas import OpenApiSchema

from gateway_shop import *  # noqa: F403 - the fixtures
from gateway_shop import ForUser, Headers
from memory_shop import MemoryShop
from rest_gateway.app import build_app
from shop.platform.access.jwt import Principal, TokenSigner, TokenVerifier
from shop.platform.access.rules import Authenticator
from shop.platform.access.streams import Streams
from shop.platform.incoming import Incoming
from shop.platform.rest.openapi import document


@pytest.fixture(scope="session")
def app(shared_shop: MemoryShop, verifier: TokenVerifier) -> FastAPI:
    """One gateway for all tests: declaring the routes takes longer than most tests."""
    return build_app(shared_shop.clients, Incoming(Authenticator(verifier)), streams=Streams())


@pytest.fixture
def partner(signer: TokenSigner) -> Headers:
    return bearer(signer.sign(Principal("partner", 1)))


@pytest.fixture
def customer(signer: TokenSigner) -> ForUser:
    return lambda user_id: bearer(signer.sign(Principal("customer", user_id)))


@pytest.fixture(scope="session")
def documented(app: FastAPI) -> OpenApiSchema:
    return schemathesis.openapi.from_dict(document(app))


@pytest.fixture
async def api(
    app: FastAPI, shop: MemoryShop, program: str | None, documented: OpenApiSchema
) -> AsyncIterator[httpx.AsyncClient]:
    """A client that fails when an answer differs from the document."""

    async def conforms(response: httpx.Response) -> None:
        await response.aread()
        method = response.request.method
        operation = documented.find_operation_by_path("GET" if method == "HEAD" else method, response.request.url.path)
        if operation is not None and method != "HEAD":
            operation.validate_response(whole(response))

    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app) if program is None else httpx.AsyncHTTPTransport(),
        base_url=program or "http://gateway",
        event_hooks={"response": [conforms]},
        headers={"accept-encoding": "identity"},
    ) as client:
        yield client


def bearer(token: str) -> Headers:
    return {"authorization": f"Bearer {token}"}


def whole(response: httpx.Response) -> httpx.Response:
    """Returns a copy of a response without the streams of its request, which the validator would read again."""
    copy = httpx.Response(
        response.status_code,
        headers=[(name, value) for name, value in response.headers.multi_items() if name != "content-encoding"],
        content=response.content,
        request=httpx.Request(response.request.method, response.request.url),
    )
    copy.elapsed = timedelta(0)
    return copy
