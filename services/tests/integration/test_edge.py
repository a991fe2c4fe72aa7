"""What a service lets in from the edge, over REST and gRPC alike; what comes from inside is trusted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import httpx
import pytest

from shop.payment import bootstrap as payment_bootstrap
from shop.platform.access.jwt import Principal, TokenSigner
from shop.platform.config import ServiceConfig
from shop.platform.serve import servers
from shop.product import bootstrap as product_bootstrap
from shop.stubs import money_pb2, product_pb2, product_pb2_grpc, user_pb2, user_pb2_grpc
from shop.user import bootstrap as user_bootstrap

pytestmark = pytest.mark.integration
EDGE = {"x-hopwise-edge": "1"}
PRICE = {"amount_minor": 1, "currency": "EUR"}
NEW = {"title": "Tea", "description": "", "category": "tea", "price": PRICE, "stock": 1}
NOBODY = "/v1/users/100000000000000000"


@pytest.fixture
def token(keys: Any) -> Callable[..., dict[str, str]]:
    """Gives the headers of a customer or partner who comes through the edge."""
    signer = TokenSigner(keys.private_pem)

    def headers(kind: Any, number: int) -> dict[str, str]:
        return {**EDGE, "authorization": f"Bearer {signer.sign(Principal(kind, number))}"}

    return headers


@asynccontextmanager
async def serving(name: str, bootstrap: Any, url: str, keys: Any, *, verifies: bool = True) -> AsyncIterator[Any]:
    config = ServiceConfig(
        component=name,
        listen_grpc="127.0.0.1:0",
        listen_rest="127.0.0.1:0",
        database_url=url,
        database_pool=2,
        jwt_private_key_file=str(keys.private_file),
        jwt_public_key_file=str(keys.public_file) if verifies else None,
    )
    async with (
        bootstrap.bootstrap(config) as service,
        servers(config, bootstrap.offer(service)) as addresses,
        httpx.AsyncClient(base_url=f"http://{addresses['rest']}", trust_env=False) as rest,
        grpc.aio.insecure_channel(addresses["grpc"], options=[("grpc.enable_http_proxy", 0)]) as channel,
    ):
        yield rest, channel


async def code(call: Any) -> str:
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return error.code().name
    return "OK"


async def test_catalogue(role_url: Callable[[str], str], keys: Any, token: Callable[..., dict[str, str]]) -> None:
    customer, partner = token("customer", 3), token("partner", 1)
    async with serving("product", product_bootstrap, role_url("product"), keys) as (rest, channel):
        stub = product_pb2_grpc.ProductServiceStub(channel)
        release = product_pb2.ReleaseReservationRequest(reservation_id="8f14e45f-ceea-467f-a8f3-6b0e3b1c1d1e")
        path = f"/v1/reservations/{release.reservation_id}:release"
        assert (await rest.get("/v1/products", headers=EDGE)).status_code == 200
        for headers, status, said in (
            (EDGE, 401, "UNAUTHENTICATED"),
            (customer, 403, "PERMISSION_DENIED"),
            (partner, 201, "OK"),
            ({}, 201, "OK"),
        ):
            assert (await rest.post("/v1/products", json=NEW, headers=headers)).status_code == status
            price = money_pb2.Money(amount_minor=1, currency="EUR")
            product = product_pb2.Product(title="Tea", category="tea", price=price, stock=1)
            request = product_pb2.CreateProductRequest(product=product)
            assert await code(stub.CreateProduct(request, metadata=tuple(headers.items()))) == said
        for headers, status, said in (
            (EDGE, 403, "PERMISSION_DENIED"),
            (customer, 403, "PERMISSION_DENIED"),
            (partner, 403, "PERMISSION_DENIED"),
            ({}, 200, "OK"),
        ):
            assert (await rest.post(path, headers=headers)).status_code == status
            assert await code(stub.ReleaseReservation(release, metadata=tuple(headers.items()))) == said


async def test_accounts(role_url: Callable[[str], str], keys: Any, token: Callable[..., dict[str, str]]) -> None:
    number = int(NOBODY.rpartition("/")[2])
    async with serving("user", user_bootstrap, role_url("user"), keys) as (rest, channel):
        stub = user_pb2_grpc.UserServiceStub(channel)
        for headers, status, said in (
            (EDGE, 401, "UNAUTHENTICATED"),
            (token("customer", 3), 403, "PERMISSION_DENIED"),
            (token("customer", number), 404, "NOT_FOUND"),
            (token("partner", 1), 404, "NOT_FOUND"),
            ({}, 404, "NOT_FOUND"),
        ):
            assert (await rest.get(NOBODY, headers=headers)).status_code == status
            assert await code(stub.GetUser(user_pb2.GetUserRequest(id=number), metadata=tuple(headers.items()))) == said
        assert (await rest.get("/v1/users", headers=token("customer", 3))).status_code == 403


async def test_payments_show_outside_what_a_gateway_shows(
    role_url: Callable[[str], str], keys: Any, token: Callable[..., dict[str, str]]
) -> None:
    path = "/v1/payments/by-checkout/0d5f4a52-7a0c-4d59-8a39-5a6a7f1f0001"
    body = {"user_id": 3, "amount": {"amount_minor": 5, "currency": "EUR"}, "payment_token": "tok_ok"}
    async with serving("payment", payment_bootstrap, role_url("payment"), keys) as (rest, _):
        assert (await rest.put(path, json=body, headers=token("partner", 1))).status_code == 403
        made = (await rest.put(path, json=body)).json()
        assert "checkout_id" in made
        seen = (await rest.get(f"/v1/payments/{made['id']}", headers=token("partner", 1))).json()
        assert seen == {"id": made["id"], "order_id": 0, "status": "AUTHORIZED", "amount": body["amount"]}


async def test_without_a_key_no_token_is_valid(
    role_url: Callable[[str], str], keys: Any, token: Callable[..., dict[str, str]]
) -> None:
    async with serving("user", user_bootstrap, role_url("user"), keys, verifies=False) as (rest, _):
        assert (await rest.get(NOBODY, headers=token("partner", 1))).status_code == 401
        assert (await rest.get(NOBODY)).status_code == 404
