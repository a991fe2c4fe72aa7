"""The gateway over in-memory services; every answer is checked against the OpenAPI document."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta

import httpx
import pytest
import schemathesis
from fastapi import FastAPI
from schemathesis.specs.openapi.schemas import OpenApiSchema

from conforming import gateway_over, pytest_collection_modifyitems
from memory_shop import Data, MemoryShop
from recording.lean.recorder import Recorder
from rest_gateway.app import build_app
from shop.platform.access.jwt import Principal, TokenSigner, TokenVerifier
from shop.platform.access.rules import Authenticator
from shop.platform.access.streams import Streams
from shop.platform.incoming import Incoming
from shop.platform.process.runtime import Runtime
from shop.platform.rest.openapi import document
from shop.platform.telemetry.tracing import Spans
from tokens import Keys, keys, signer, verifier

__all__ = ["keys", "pytest_collection_modifyitems", "signer", "verifier"]
Headers = dict[str, str]


@pytest.fixture(scope="session")
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture(scope="session")
def installed(signer: TokenSigner, keys: Keys, recorder: Recorder) -> tuple[MemoryShop, FastAPI]:
    """One gateway for all tests: declaring the routes takes longer than most tests."""
    incoming = Incoming(Authenticator(TokenVerifier(keys.public_pem)), Runtime(Spans(recorder)))
    shop = MemoryShop(sign=lambda user_id: signer.sign(Principal("customer", user_id)))
    return shop, build_app(shop.clients, incoming, streams=Streams())


@pytest.fixture
def shop(installed: tuple[MemoryShop, FastAPI]) -> MemoryShop:
    """200 products, 20 users, 50 orders: order i belongs to user 1 + (i - 1) % 5 and has 1 + i % 5 lines."""
    shop, _ = installed
    shop.fill(Data.demo())
    shop.record.calls.clear()
    shop.record.on_call = None
    return shop


@pytest.fixture
def app(installed: tuple[MemoryShop, FastAPI], shop: MemoryShop) -> FastAPI:
    return installed[1]


@pytest.fixture
def partner(signer: TokenSigner) -> Headers:
    return bearer(signer.sign(Principal("partner", 1)))


@pytest.fixture
def customer(signer: TokenSigner) -> Callable[[int], Headers]:
    return lambda user_id: bearer(signer.sign(Principal("customer", user_id)))


@pytest.fixture(scope="session")
def documented(installed: tuple[MemoryShop, FastAPI]) -> OpenApiSchema:
    return schemathesis.openapi.from_dict(document(installed[1]))


@pytest.fixture(scope="session")
def program(
    installed: tuple[MemoryShop, FastAPI], keys: Keys, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str | None]:
    """URL of the program that is tested instead of the application in this process; None for the application."""
    with gateway_over(installed[0], keys.public_pem, tmp_path_factory.mktemp("gateway")) as url:
        yield url


@pytest.fixture
async def api(app: FastAPI, program: str | None, documented: OpenApiSchema) -> AsyncIterator[httpx.AsyncClient]:
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
