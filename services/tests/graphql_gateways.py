"""Fixtures for a GraphQL gateway over a shop in memory, and for clients that call it like customers and partners."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

import gateway_shop
from gateway_shop import *  # noqa: F403 - the fixtures
from graphql_gateway.app import build_app
from graphql_gateway.schema import build_schema
from memory_shop import MemoryShop
from mesh.paths import ROOT
from recording.lean.recorder import Recorder
from shop.contract.calls import PRODUCT, Access
from shop.platform.access.jwt import Principal, TokenSigner, TokenVerifier
from shop.platform.access.rules import Authenticator
from shop.platform.access.streams import Streams
from shop.platform.admission import Admission
from shop.platform.deadline import DEADLINE_HEADER, MAX_S
from shop.platform.graphql.schema import core_schema
from shop.platform.graphql.service import client_path, graphql_app
from shop.platform.http.server import http_server
from shop.platform.incoming import Incoming
from shop.platform.process.runtime import Runtime
from shop.platform.telemetry.tracing import Spans
from update_doors import GraphqlDoor

DOCUMENTS = ROOT / "load" / "internal" / "graphql" / "documents"
"""The documents that the load generator sends; those in folders are for other servers."""
SCHEMA = core_schema(build_schema())
"""The gateway's schema."""
__all__ = [*gateway_shop.__all__, "gateway", "recorder", "runtime", "served", "server"]
"""The names that a conftest imports."""


@dataclass
class GatewayClient:
    """Sends requests to the application, without a network."""

    http: httpx.AsyncClient
    signer: TokenSigner
    shop: MemoryShop
    is_program: bool = False

    def token(self, kind: str, number: int = 1) -> str:
        return self.signer.sign(Principal(kind, number))  # type: ignore[arg-type]

    async def post(
        self, body: Any, *, user: int | None = None, partner: bool = False, **headers: str
    ) -> httpx.Response:
        # The limit is the longest that a caller may set, because other tests may keep the machine busy.
        sent = {DEADLINE_HEADER: f"{MAX_S * 1000:.0f}"}
        sent |= {name.replace("_", "-"): text for name, text in headers.items()}
        if partner or user is not None:
            sent["authorization"] = f"Bearer {self.token('partner') if partner else self.token('customer', user)}"
        self.shop.record.calls.clear()
        return await self.http.post("/graphql", json=body, headers=sent)

    async def run(self, query: str, variables: dict[str, Any] | None = None, **caller: Any) -> Any:
        response = await self.post({"query": query, "variables": variables}, **caller)
        assert response.status_code == 200
        return response.json()

    async def data(self, query: str, variables: dict[str, Any] | None = None, **caller: Any) -> Any:
        """Returns the data of an answer without errors."""
        answer = await self.run(query, variables, **caller)
        assert "errors" not in answer, answer
        return answer["data"]

    async def error(self, query: str, variables: dict[str, Any] | None = None, **caller: Any) -> tuple[str, str, str]:
        """Returns code, field and message of the first error."""
        first = (await self.run(query, variables, **caller))["errors"][0]
        return first["extensions"]["code"], first["extensions"].get("field", ""), first["message"]


@pytest.fixture
def recorder() -> Recorder:
    """Records the spans of the application in this process."""
    return Recorder()


@pytest.fixture
def runtime(recorder: Recorder) -> Runtime:
    return Runtime(Spans(recorder), admission=Admission())


@pytest.fixture
async def gateway(
    shop: MemoryShop, signer: TokenSigner, verifier: TokenVerifier, runtime: Runtime, program: str | None
) -> AsyncIterator[GatewayClient]:
    app = build_app(shop.clients, Incoming(Authenticator(verifier), runtime), streams=Streams())
    http = serving(app) if program is None else httpx.AsyncClient(base_url=program, trust_env=False)
    async with http:
        yield GatewayClient(http, signer, shop, is_program=program is not None)


@pytest.fixture(params=["gateway", pytest.param("service", marks=pytest.mark.ours)])
async def server(
    request: pytest.FixtureRequest, gateway: GatewayClient, runtime: Runtime
) -> AsyncIterator[GatewayClient]:
    """A GraphQL server over HTTP: the gateway, or a service's endpoint for clients."""
    if request.param == "gateway":
        yield gateway
        return
    incoming = Incoming(Authenticator(None, trusts_inside=True), runtime)
    app = graphql_app(PRODUCT, gateway.shop.use_cases("product"), incoming)

    async def for_clients(scope: Any, receive: Any, send: Any) -> None:
        path = client_path(PRODUCT.name) if scope["path"] == "/graphql" else scope["path"]
        await app({**scope, "path": path}, receive, send)

    async with serving(for_clients) as http:
        yield GatewayClient(http, gateway.signer, gateway.shop)


def serving(app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gateway")


class Served(GraphqlDoor):
    def __init__(self, address: str, signer: TokenSigner) -> None:
        super().__init__(address)
        self._signer = signer

    def authorization(self, user: int, kind: Any = "customer", ttl_s: int = 3600) -> dict[str, str]:
        return {"authorization": f"Bearer {self._signer.sign(Principal(kind, user), ttl_s)}"}


@pytest.fixture
async def served(
    shop: MemoryShop, signer: TokenSigner, verifier: TokenVerifier, runtime: Runtime
) -> AsyncIterator[Served]:
    held = Streams()
    app = build_app(shop.clients, Incoming(Authenticator(verifier), runtime), streams=held)
    inside = Authenticator(verifier, trusts_inside=True)

    async def in_one_process(scope: Any, receive: Any, send: Any) -> None:
        # The services run in the gateway's process, so that the gateway can call them as an internal caller.
        inside.admit(Access.INTERNAL, None, None)
        await app(scope, receive, send)

    async with http_server(in_one_process, "127.0.0.1:0", sockets=True) as address:
        made = Served(address, signer)
        async with made.transport:
            yield made
        held.close()


def fields_of(answer: Any) -> int:
    """Counts the fields of an answer; for a list, the fields of its items."""
    if isinstance(answer, dict):
        return len(answer) + sum(map(fields_of, answer.values()))
    return sum(map(fields_of, answer)) if isinstance(answer, list) else 0


def opening_message(position: int) -> dict[str, Any]:
    data = {"notifications": {"position": position, "notification": None}}
    return {"id": "1", "type": "next", "payload": {"data": data}}
