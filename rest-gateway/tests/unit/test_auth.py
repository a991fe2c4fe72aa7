"""Who is admitted."""

from __future__ import annotations

import httpx
import pytest
from fastapi import FastAPI

from gateway_shop import ForUser
from shop.platform.access.jwt import Principal, TokenSigner
from shop.platform.access.rules import gateway_authenticator
from shop.platform.config import ConfigError, ServiceConfig
from shop.platform.rest.openapi import document


def test_a_gateway_needs_the_key_that_verifies_tokens() -> None:
    with pytest.raises(ConfigError, match="SHOP_JWT_PUBLIC_KEY_FILE is not set"):
        gateway_authenticator(ServiceConfig(component="rest-gateway"))


@pytest.mark.parametrize(
    "header",
    [
        *["", "Bearer", "Basic dXNlcjpwYXNz", "Bearer not.a.token", "Bearer é", "Bearer a b c"],
        pytest.param("Bearer ", marks=pytest.mark.ours),  # no client sends it over a network
    ],
)
async def test_an_invalid_token_is_refused(api: httpx.AsyncClient, header: str) -> None:
    answer = await api.get("/v1/orders/1", headers={"authorization": header.encode("latin-1")})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_an_expired_token_is_refused(api: httpx.AsyncClient, signer: TokenSigner) -> None:
    token = signer.sign(Principal("partner", 1), ttl_s=-1)
    answer = await api.get("/v1/orders/1", headers={"authorization": f"Bearer {token}"})
    assert (answer.status_code, answer.json()["detail"]) == (401, "the token has expired; log in again")


async def test_a_caller_is_checked_before_its_request_is_read(api: httpx.AsyncClient, customer: ForUser) -> None:
    assert (await api.post("/v1/orders", content=b"nonsense")).status_code == 401
    assert (await api.post("/v1/products", content=b"nonsense", headers=customer(1))).status_code == 403


async def test_every_operation_keeps_its_documented_access(
    app: FastAPI, api: httpx.AsyncClient, program: str | None, customer: ForUser
) -> None:
    for path, operations in document(app)["paths"].items():
        for method, operation in operations.items():
            if program and "notifications" in operation["tags"]:
                continue  # there with `updates=on`, which the contract for programs leaves out
            url = path.replace("{", "").replace("}", "")
            anonymous = await api.request(method.upper(), url)
            assert (anonymous.status_code == 401) == ("security" in operation), (method, path)
            if operation["x-access"] == "partner":
                denied = await api.request(method.upper(), url, headers=customer(1))
                assert denied.status_code == 403, (method, path)
